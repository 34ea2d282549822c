"""Spans of offsets with a state, laid over each other: what is newer counts. Pure."""

from collections.abc import Iterator, Sequence

from ottla.groups.share.delivery import StateBatch


def combine(
    old: Sequence[StateBatch], new: Sequence[StateBatch], start_offset: int
) -> list[StateBatch]:
    """The new ones on top of the old ones, without what is done, neighbours joined."""
    kept = sorted(old)
    for layer in _layers(new):
        kept = _laid_over(kept, layer)
    combined: list[StateBatch] = []
    for batch in kept:
        if batch.last < start_offset:
            continue
        batch = batch._replace(first=max(batch.first, start_offset))
        before = combined[-1] if combined else None
        if before is not None and before[2:] == batch[2:] and before.last + 1 == batch.first:
            combined[-1] = before._replace(last=batch.last)
        else:
            combined.append(batch)
    return combined


def _layers(batches: Sequence[StateBatch]) -> Iterator[list[StateBatch]]:
    """Runs in the order of offsets; usually there is one, however many batches there are."""
    layer: list[StateBatch] = []
    for batch in batches:
        if layer and batch.first <= layer[-1].last:
            yield layer
            layer = []
        layer.append(batch)
    if layer:
        yield layer


def _laid_over(beneath: Sequence[StateBatch], tops: Sequence[StateBatch]) -> list[StateBatch]:
    """Both are in order and do not overlap; what lies under a top gives way. One pass."""
    laid: list[StateBatch] = []
    rest = iter(beneath)
    batch = next(rest, None)
    for top in tops:
        while batch is not None and batch.last < top.first:
            laid.append(batch)
            batch = next(rest, None)
        while batch is not None and batch.first <= top.last:
            if batch.first < top.first:
                laid.append(batch._replace(last=top.first - 1))
            if batch.last > top.last:
                batch = batch._replace(first=top.last + 1)
                break
            batch = next(rest, None)
        laid.append(top)
    if batch is not None:
        laid.append(batch)
    laid.extend(rest)
    return laid
