"""A Protobuf schema as the registry handles it."""

from collections.abc import Mapping
from functools import cached_property

from ottla.registry.bounds import TooComplex
from ottla.registry.entities import PROTOBUF
from ottla.registry.parsed import NotASchema, Parsed
from ottla.registry.protobuf.compatibility import Side, differences
from ottla.registry.protobuf.names import Names
from ottla.registry.protobuf.parsing import NotProtobuf, parse_file
from ottla.registry.protobuf.text import normal_text, text_of
from ottla.registry.protobuf.tree import File, Message


class ProtobufSchema:
    kind = PROTOBUF

    def __init__(
        self, file: File, references: Mapping[str, str], files: Mapping[str, File]
    ) -> None:
        self.file = file
        self._references = references
        self._files = files

    @cached_property
    def text(self) -> str:
        return text_of(self.file)

    @cached_property
    def names(self) -> Names:
        return Names(self.file, self._files)

    @property
    def top_fields(self) -> frozenset[str]:
        for one in self.file.types:
            if isinstance(one, Message):
                within = (field for oneof in one.oneofs for field in oneof.fields)
                return frozenset(field.name for field in (*one.fields, *within))
        return frozenset()

    def normal(self) -> "ProtobufSchema":
        file = parse_file(normal_text(self.file, self.names))
        return ProtobufSchema(file, self._references, self._files)

    def formatted(self, how: str) -> str:
        """The compiled form is `compiler`'s affair."""
        return self.text

    def same(self, other: Parsed) -> bool:
        return isinstance(other, ProtobufSchema) and self.text == other.text

    def cannot_read(self, writer: Parsed, *, lenient: bool) -> list[str]:
        assert isinstance(writer, ProtobufSchema)
        older = Side(writer.file, writer.names, writer._references)
        newer = Side(self.file, self.names, self._references)
        return [str(one) for one in differences(older, newer)]

    def check(self, *, strict: bool) -> None:
        return None


def parse(text: str, references: Mapping[str, str], new: bool) -> ProtobufSchema:
    try:
        files = {name: read_file(one) for name, one in references.items()}
        return ProtobufSchema(read_file(text), references, files)
    except NotProtobuf as error:
        raise NotASchema(str(error)) from None
    except RecursionError:
        raise TooComplex("The schema is nested too deeply") from None


def read_file(text: str) -> File:
    """Of text, or of a descriptor in base 64."""
    if not any(one in text for one in " ;{\n"):
        from ottla.registry.protobuf.descriptors import file_of

        found = file_of(text)
        if found is not None:
            return found
    return parse_file(text)
