"""Leader epochs: the answers that followers truncate by."""

from pathlib import Path

import pytest

from ottla.log.epochs import LeaderEpochs


@pytest.fixture
def epochs(tmp_path: Path) -> LeaderEpochs:
    epochs = LeaderEpochs(tmp_path / "leader-epoch-checkpoint")
    for epoch, start in ((1, 0), (2, 10), (5, 30)):
        epochs.assign(epoch, start)
    return epochs


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, (-1, -1)),
        (0, (0, 0)),  # older than all: ended where the first began
        (1, (1, 10)),
        (2, (2, 30)),
        (3, (2, 30)),  # the largest not above it
        (5, (5, 42)),  # the current one goes on to the log's end
        (6, (-1, -1)),  # nothing is known of the future
    ],
)
def test_the_end_of_an_epoch(epochs: LeaderEpochs, asked: int, answer: tuple[int, int]) -> None:
    assert epochs.end_offset_for(asked, 42) == answer


def test_an_epoch_is_assigned_once_and_never_backwards(epochs: LeaderEpochs) -> None:
    epochs.assign(5, 35)
    epochs.assign(4, 35)
    assert epochs.entries[-1] == (5, 30)


def test_an_epoch_without_records_gives_way_to_the_next(epochs: LeaderEpochs) -> None:
    epochs.assign(6, 30)
    assert epochs.entries == ((1, 0), (2, 10), (6, 30))


def test_both_ends_can_be_cut(epochs: LeaderEpochs) -> None:
    epochs.truncate_from_end(30)
    assert epochs.entries == ((1, 0), (2, 10))
    epochs.truncate_from_start(15)
    assert list(epochs.entries) == [(2, 15)]
    assert (epochs.epoch_for(14), epochs.epoch_for(15)) == (-1, 2)


def test_they_are_found_again_in_kafkas_format(epochs: LeaderEpochs) -> None:
    epochs.save_if_changed()
    assert epochs.path.read_text() == "0\n3\n1 0\n2 10\n5 30\n"
    again = LeaderEpochs(epochs.path)
    again.load()
    assert again.entries == epochs.entries


def test_a_file_that_is_not_whole_says_nothing(epochs: LeaderEpochs) -> None:
    epochs.path.write_text("0\n3\n1 0\n")
    epochs.load()
    assert LeaderEpochs(epochs.path).entries == ()
