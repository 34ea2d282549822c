"""A transform of a chain, with the predicate that says when it applies."""

from dataclasses import dataclass

from ottla.connect.data import Record
from ottla.connect.predicates import Predicate
from ottla.connect.transforms.transform import Transform


@dataclass(frozen=True, slots=True)
class TransformStage:
    class_name: str  # Java's
    transform: Transform
    predicate: Predicate | None = None
    negate: bool = False

    def apply(self, record: Record) -> Record | None:
        if self.predicate is None or self.predicate.test(record) is not self.negate:
            return self.transform.apply(record)
        return record
