"""Replies that come later: delivered once, and gone with the last who knows them."""

import gc
import weakref

from ottla.broker.transport.pending_reply import Body, ConnectionLost, PendingReply


class Slot:
    """As a connection keeps it: the slot knows the reply, and the reply whom to tell."""

    def __init__(self, later: PendingReply) -> None:
        self.later = later
        self.body: Body | ConnectionLost | None = None
        later.then(self.arrived)

    def arrived(self, body: Body | ConnectionLost | None) -> None:
        self.body = body


def test_the_first_delivery_counts() -> None:
    slot = Slot(PendingReply())
    slot.later.deliver([b"first"])
    slot.later.deliver([b"second"])
    assert slot.body == [b"first"]


def test_who_asks_after_the_delivery_is_told_too() -> None:
    later = PendingReply()
    later.deliver([b"here"])
    assert Slot(later).body == [b"here"]


def test_a_delivered_reply_does_not_wait_for_the_garbage_collector() -> None:
    gc.disable()
    try:
        slot = Slot(PendingReply())
        slot.later.deliver([b"a megabyte"])
        gone = weakref.ref(slot)
        del slot
        assert gone() is None
    finally:
        gc.enable()
