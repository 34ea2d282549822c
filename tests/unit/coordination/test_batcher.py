"""What goes into one batch, and what begins the next."""

from ottla.coordination.batcher import Batcher, EncodedRecords
from ottla.coordination.machine import Answer, ProducerIdAndEpoch
from ottla.wire.record_batch import NewRecord, iterate_batches

ONE = EncodedRecords([NewRecord(0, b"key", b"value")], 100)


def test_what_comes_together_is_one_batch_with_all_its_answers() -> None:
    batcher = Batcher()
    for ticket in ("first", "second"):
        assert batcher.fits(ONE.size, None, 200)
        batcher.add(ONE, None)
        batcher.answer_with_it([Answer(ticket, None)])
    batch = batcher.close()
    assert len(batch.records) == 2
    assert [answer.ticket for answer in batch.answers] == ["first", "second"]
    assert not batcher.records


def test_a_batch_is_not_larger_than_the_topic_allows() -> None:
    batcher = Batcher()
    batcher.add(ONE, None)
    assert not batcher.fits(ONE.size, None, 199)


def test_a_batch_belongs_to_one_transaction_or_to_none() -> None:
    batcher, producer = Batcher(), ProducerIdAndEpoch(7, 1)
    assert not batcher.fits(ONE.size, producer, 1000)
    batcher.add(ONE, producer)
    assert batcher.fits(ONE.size, producer, 1000)
    assert not batcher.fits(ONE.size, None, 1000)
    assert not batcher.fits(ONE.size, ProducerIdAndEpoch(7, 2), 1000)
    (_, header), *others = iterate_batches(batcher.close().encode(leader_epoch=3))
    assert not others
    assert (header.producer_id, header.producer_epoch, header.leader_epoch) == (7, 1, 3)
    assert header.is_transactional
