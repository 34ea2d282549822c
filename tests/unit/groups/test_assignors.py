"""Targets: complete, fair, and close to what was there."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.groups.consumer.assignors import ASSIGNORS, Subscriber, Targets

TOPICS = [bytes([index]) * 16 for index in range(4)]


def subscriber(name: str, topics: set[int], has: frozenset[tuple[bytes, int]]) -> Subscriber:
    return Subscriber(name, name, frozenset(TOPICS[index] for index in topics), has)


def placed(targets: Targets) -> dict[str, frozenset[tuple[bytes, int]]]:
    return {
        member: frozenset((topic, index) for topic, parts in topics.items() for index in parts)
        for member, topics in targets.items()
    }


groups = st.dictionaries(
    st.sampled_from("abcdefgh"), st.sets(st.integers(0, 3), min_size=1), min_size=1
)
counts = st.lists(st.integers(0, 12), min_size=4, max_size=4)


@settings(deadline=None)
@given(groups, counts, st.sampled_from(sorted(ASSIGNORS)))
def test_every_partition_goes_to_one_subscriber(
    members: dict[str, set[int]], sizes: list[int], assignor: str
) -> None:
    subscribers = [subscriber(name, topics, frozenset()) for name, topics in members.items()]
    counts = dict(zip(TOPICS, sizes, strict=True))
    targets = placed(ASSIGNORS[assignor](subscribers, counts))
    given = [place for places in targets.values() for place in places]
    wanted = {topic for one in subscribers for topic in one.topics}
    assert len(given) == len(set(given))
    assert set(given) == {
        (topic, index) for topic, size in counts.items() if topic in wanted for index in range(size)
    }
    for one in subscribers:
        assert {topic for topic, _ in targets[one.id]} <= one.topics


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 40), st.integers(1, 9))
def test_equal_members_get_equal_shares_with_as_few_moves_as_that_takes(
    before: int, partitions: int, after: int
) -> None:
    counts = {TOPICS[0]: partitions}
    names = "abcdefghi"
    first = [subscriber(name, {0}, frozenset()) for name in names[:before]]
    had = placed(ASSIGNORS["uniform"](first, counts))
    second = [subscriber(name, {0}, had.get(name, frozenset())) for name in names[:after]]
    has = placed(ASSIGNORS["uniform"](second, counts))
    shares = [len(places) for places in has.values()]
    assert max(shares) - min(shares) <= 1
    kept = sum(len(has[name] & had.get(name, frozenset())) for name in has)
    possible = sum(min(len(had.get(name, ())), max(shares)) for name in has)
    assert kept >= possible - (max(shares) - min(shares)) * len(has)


@settings(deadline=None)
@given(groups, counts, st.sampled_from(sorted(ASSIGNORS)))
def test_a_target_that_is_there_stays(
    members: dict[str, set[int]], sizes: list[int], assignor: str
) -> None:
    counts = dict(zip(TOPICS, sizes, strict=True))
    first = [subscriber(name, topics, frozenset()) for name, topics in members.items()]
    had = placed(ASSIGNORS[assignor](first, counts))
    second = [subscriber(name, topics, had[name]) for name, topics in members.items()]
    assert placed(ASSIGNORS[assignor](second, counts)) == had
