"""What becomes of records that fail: sentences for the log, letters for a topic. In a task."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ottla.connect.connector import Config
from ottla.connect.pipeline import Failure, consumed
from ottla.connect.runs.rows import Row

SENTENCES_MAX = 1000  # of one partition in one job


@dataclass(slots=True)
class ErrorReport:
    connector: str
    task: int
    config: Config
    letters: list[Row] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)

    @property
    def topic(self) -> str:
        return self.config.get("errors.deadletterqueue.topic.name", "").strip()

    def note(
        self,
        failure: Failure,
        place: tuple[str, int, int] | None = None,
        record: Callable[[], Row] | None = None,
    ) -> None:
        """`place` and `record`: where a sink's record was read, and what was."""
        if self._says("errors.log.enable") and len(self.sentences) < SENTENCES_MAX:
            self.sentences.append(self._sentence(failure, place))
        if self.topic and place is not None and record is not None:
            self.letters.append(self._letter(failure, place, record()))

    def _letter(self, failure: Failure, place: tuple[str, int, int], read: Row) -> Row:
        headers = list(read.headers or ())
        if self._says("errors.deadletterqueue.context.headers.enable"):
            headers += failure.headers(self.connector, self.task, *place)
        return Row(self.topic, read.key, read.value, headers, None, read.time)

    def _sentence(self, failure: Failure, place: tuple[str, int, int] | None) -> str:
        details = None
        if self._says("errors.log.include.messages"):
            details = str(failure.record) if place is None else consumed(*place, None)
        said = failure.sentence(self.connector, self.task, details)
        return f"{said} {failure.exception_class}: {failure.exception}"

    def _says(self, key: str) -> bool:
        return self.config.get(key, "false").strip().lower() == "true"
