"""One copy of an application at a time: the one static member of the application's group.

Who runs an application is a member of its consumer group, always under the same instance id. The
coordinator knows one member of that id: a newer one fences the older, whose commits and heartbeats
are refused from then on, and one that is killed is forgotten after its session. The member's client
id says who it is, so that the next copy can name it; it stays what it was when another takes the
member's place, so a dead member is taken out before anybody joins. Whoever is fenced and finds its
own client id in the group has been fenced by itself. Progress is committed by the member, so a
fenced copy cannot move the group's offsets either.
"""

import contextlib
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ottla.errors import OttlaError
from ottla.pipelines.api.definitions import Application
from ottla.pipelines.lifecycle import coordinator
from ottla.pipelines.lifecycle.coordinator import NobodyAnswers

INSTANCE = "ottla-application"
SESSION_S = 10.0  # how long a killed copy still counts as running
LOOK_S = 0.5
ASK_AGAIN_S = 0.2
POLL_S = 0.1
JOIN_S = 60.0
COORDINATOR_SETTLES_S = 30.0
CLIENT_ID = re.compile(r"ottla-(?P<role>run|successor)~(?P<host>.+)~(?P<process>\d+)~(?P<at>\d+)")

QUIET = logging.Logger("ottla.membership", logging.CRITICAL + 1)
_here: set[tuple[str, str]] = set()  # what this process runs: (brokers, group)


@dataclass(frozen=True, slots=True)
class Copy:
    """A process that runs an application, or waits to take it over."""

    host: str
    process: int
    since_s: int
    role: str = "run"
    member_id: str = field(default="", compare=False)  # as the group knows it

    @classmethod
    def of_this_process(cls, role: str = "run") -> "Copy":
        return cls(socket.gethostname(), os.getpid(), int(time.time()), role)

    @classmethod
    def from_client_id(cls, client_id: str, member_id: str = "") -> "Copy | None":
        found = CLIENT_ID.fullmatch(client_id)
        if found is None:
            return None
        process, since_s = int(found["process"]), int(found["at"])
        return cls(found["host"], process, since_s, found["role"], member_id)

    @property
    def client_id(self) -> str:
        return f"ottla-{self.role}~{self.host}~{self.process}~{self.since_s}"

    def alive_here(self) -> bool | None:
        """Whether the process still is; None when it is another machine's."""
        if self.host != socket.gethostname():
            return None
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since_s, UTC)
        return f"process {self.process} on {self.host}, since {since:%Y-%m-%d %H:%M:%S} UTC"


@dataclass
class Membership:
    """This process as the application's one copy: `claim()`, `join()`, and `close()` at the end."""

    application: Application
    topics: Iterable[str]  # that the application reads; one is enough
    say: Callable[[str], None] = print
    group: str = ""
    consumer: Any = None
    own: Copy = field(default_factory=Copy.of_this_process)
    lost: str | None = None  # why this copy must end at once
    successor: Copy | None = None  # who has asked this copy to hand over

    def __post_init__(self) -> None:
        self.group = self.group or self.application.name
        self._closing = threading.Event()
        self._joined = threading.Event()
        self._asked = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._watching = threading.Thread(target=self._watch, daemon=True)

    def claim(self, stopping: threading.Event, *, standby: bool = False) -> bool:
        """Wait until nobody else runs the application, or say who does. False when stopped."""
        until = time.monotonic() + SESSION_S + 2 * LOOK_S
        told = False
        while (other := self._other()) is not None:
            alive = self._alive(other)
            if alive is False and self._evict(other.member_id):
                continue
            if not standby and (alive or time.monotonic() > until):
                raise OttlaError(
                    f"{self.application.name} runs already: {other}. Stop it first, or wait for "
                    "its end with --standby."
                )
            if not told:
                told = True
                self.say(
                    f"Standing by: {other} runs {self.application.name}."
                    if standby
                    else f"Looking whether {other} is still there."
                )
            if stopping.wait(LOOK_S):
                return False
        return True

    def take_over(self, stopping: threading.Event) -> bool:
        """Ask whoever runs the application to end cleanly, and wait until it has."""
        other = self._other()
        if other is not None and self._alive(other) is not False:
            self.say(f"Asking {other} to hand over.")
            successor = Copy.of_this_process("successor")
            asking = _consumer(self.application, self.group, successor, None)
            try:
                asking.subscribe([next(iter(self.topics))])
                while (other := self._other()) is not None and self._alive(other) is not False:
                    asking.poll(POLL_S)
                    if stopping.wait(LOOK_S):
                        return False
            finally:
                asking.close()
        return other is None or self.claim(stopping)

    def join(self) -> None:
        """Become the member, in the background; `wait_until_held` says when it is done."""
        self.consumer = self._subscribed()
        _here.add((self.application.bootstrap, self.group))
        self._thread.start()
        self._watching.start()

    def wait_until_held(self, stopping: threading.Event) -> bool:
        until = time.monotonic() + JOIN_S
        while not self._joined.wait(POLL_S):
            if stopping.is_set() or self.lost:
                return False
            if time.monotonic() > until:
                raise OttlaError(
                    f"The group {self.group} could not be joined within {JOIN_S:.0f} s."
                )
        return True

    def close(self) -> None:
        self._closing.set()
        self._asked.set()
        _here.discard((self.application.bootstrap, self.group))
        if self._thread.is_alive():
            self._thread.join(10)
            self._watching.join(10)
        if self.consumer is not None:
            member_id = self.consumer.memberid()
            self.consumer.close()
            if member_id and self.lost is None:
                self._evict(member_id)

    def _poll(self) -> None:
        from confluent_kafka import KafkaException

        # A poll that waits would keep commits of the other thread out.
        while not self._closing.wait(POLL_S) and self.lost is None:
            with contextlib.suppress(KafkaException):
                message = self.consumer.poll(0)
                if message is not None and message.error():
                    self._heard(message.error())

    def _watch(self) -> None:
        """Look at the group when its members have changed: somebody may ask for the place."""
        while not self._closing.is_set():
            self._asked.wait()
            self._asked.clear()
            if self._closing.is_set():
                return
            with contextlib.suppress(OttlaError):
                self.successor = next((c for c in self._copies() if c.role == "successor"), None)

    def _subscribed(self) -> Any:
        consumer = _consumer(self.application, self.group, self.own, INSTANCE)
        consumer.subscribe(
            list(self.topics), on_assign=self._assigned, on_revoke=_left, on_lost=self._lost
        )
        return consumer

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        consumer.assign(partitions)
        consumer.pause(partitions)  # Spark reads them; here they stand for the membership
        self._joined.set()
        self._asked.set()

    def _lost(self, consumer: Any, partitions: list[Any]) -> None:
        """The session is over. Join again, unless somebody else has taken the place meanwhile."""
        if (other := self._replaced_by()) is not None:
            self._end(other)
            self._closing.wait()  # a return would join, and fence the one that came after
        consumer.unassign()

    def _heard(self, error: Any) -> None:
        if error.code() not in (error._FATAL, error.FENCED_INSTANCE_ID):
            return
        if (other := self._replaced_by()) is not None:
            self._end(other)
        elif not self._closing.is_set():
            self._join_again()

    def _join_again(self) -> None:
        """Nobody has fenced this copy but itself, and that is for good: with another consumer.

        The answer to a request to join may be lost with its broker. The coordinator has a new
        member id for this instance then, which the client never heard of.
        """
        fenced, self.consumer = self.consumer, self._subscribed()
        fenced.close()

    def _replaced_by(self) -> Copy | None:
        """Who has this copy's place, as soon as the brokers can tell: they may be away."""
        while not self._closing.is_set():
            try:
                return self._other()
            except OttlaError:
                self._closing.wait(LOOK_S)
        return None

    def _end(self, other: Copy) -> None:
        self.lost = f"another copy of {self.application.name} has taken over: {other}"

    def _evict(self, member_id: str) -> bool:
        connection = self.application.connection
        return coordinator.evict(connection, self.group, INSTANCE, member_id)

    def _alive(self, other: Copy) -> bool | None:
        if other.host == self.own.host and other.process == self.own.process:
            return (self.application.bootstrap, self.group) in _here
        return other.alive_here()

    def _other(self) -> Copy | None:
        copies = (copy for copy in self._copies() if copy.role == "run")
        return next((copy for copy in copies if copy != self.own), None)

    def _copies(self) -> list[Copy]:
        """Who runs the application or asks for its place; a coordinator is waited for."""
        until = time.monotonic() + COORDINATOR_SETTLES_S
        while True:
            try:
                members = coordinator.members(self.application.connection, self.group)
                break
            except NobodyAnswers:
                if time.monotonic() > until or self._closing.wait(ASK_AGAIN_S):
                    raise
        found = (Copy.from_client_id(one.client_id, one.member_id) for one in members)
        return [copy for copy in found if copy is not None]


def _left(consumer: Any, partitions: list[Any]) -> None:
    consumer.unassign()


def _consumer(application: Application, group: str, copy: Copy, instance: str | None) -> Any:
    settings: dict[str, Any] = {
        "group.id": group,
        "enable.auto.commit": False,
        "session.timeout.ms": int(SESSION_S * 1000),
        "heartbeat.interval.ms": 2000,
        "socket.timeout.ms": 5_000,  # how long a commit waits for a broker that is away
        "auto.offset.reset": "latest",
        "logger": QUIET,  # what matters is told by us
    }
    fixed = {"client.id": copy.client_id}  # the other copies read it
    if instance is not None:
        fixed["group.instance.id"] = instance
    return application.connection.consumer(settings, fixed=fixed)
