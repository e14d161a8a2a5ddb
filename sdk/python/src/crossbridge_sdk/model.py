"""The documents of a kind as pydantic models, and what a field means beyond its type."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from ._proto import kind_pb2, target_pb2
from .document import escape


class Model(BaseModel):
    """A document: `snake_case` here, `camelCase` in YAML. Docstrings, of fields too, become `kubectl explain`.

    A field without opinion is `| None = None`. What the schema cannot express, validators do: what they reject is `INVALID_SPEC` that names the
    field.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True)


def _of_32_bits(value: int) -> int:
    if not -(2**31) <= value < 2**31:
        raise ValueError("is no integer of 32 bits")
    return value


# An integer of 32 bits; `int` is one of 64.
Int32 = Annotated[int, AfterValidator(_of_32_bits), WithJsonSchema({"type": "integer", "format": "int32"})]


class NoStatus(Model):
    """The status of a kind that has none."""


class FieldRule:
    """The meaning of a field, given by annotation: `Annotated[str, Immutable()]`."""

    def apply(self, rule: kind_pb2.FieldRule) -> None:
        """Writes it into the rule of its field."""
        raise NotImplementedError


@dataclass(frozen=True)
class Sensitive(FieldRule):
    """Comes from a Secret: the field is `None` always, and `Desired.sensitive` has its value."""

    def apply(self, rule: kind_pb2.FieldRule) -> None:
        """Writes it into the rule of its field."""
        rule.sensitive = True


@dataclass(frozen=True)
class Immutable(FieldRule):
    """Changes only by replacement."""

    def apply(self, rule: kind_pb2.FieldRule) -> None:
        """Writes it into the rule of its field."""
        rule.mutability = kind_pb2.MUTABILITY_IMMUTABLE


@dataclass(frozen=True)
class SetOnce(FieldRule):
    """May be set later, but not changed once set."""

    def apply(self, rule: kind_pb2.FieldRule) -> None:
        """Writes it into the rule of its field."""
        rule.mutability = kind_pb2.MUTABILITY_SET_ONCE


@dataclass(frozen=True)
class LateInitialized(FieldRule):
    """Where the desired state leaves it out, it is filled from what was observed."""

    def apply(self, rule: kind_pb2.FieldRule) -> None:
        """Writes it into the rule of its field."""
        rule.late_initialized = True


class Comparison(enum.Enum):
    """How the bridge compares the values of a field."""

    CASE_INSENSITIVE = 1
    JSON_TEXT = 2
    QUANTITY = 3
    WRITE_ONLY = 4


@dataclass(frozen=True)
class Compared(FieldRule):
    """Is not compared as JSON: letter case or white space does not count, or the upstream does not return it."""

    by: Comparison

    def apply(self, rule: kind_pb2.FieldRule) -> None:
        """Writes it into the rule of its field."""
        rule.MergeFrom(kind_pb2.FieldRule(comparison=f"COMPARISON_{self.by.name}"))


@dataclass(frozen=True)
class Reference(FieldRule):
    """Users may name another managed resource instead of its value: its external name, or what stands at `extract` in its status."""

    group: str
    version: str
    kind: str
    extract: str = ""

    def apply(self, rule: kind_pb2.FieldRule) -> None:
        """Writes it into the rule of its field."""
        resource_type = target_pb2.ResourceType(group=self.group, version=self.version, kind=self.kind)
        rule.reference.CopyFrom(kind_pb2.ReferenceRule(resource_type=resource_type, extract=self.extract))


def field_rules(model: type[BaseModel], more: Mapping[str, FieldRule | Sequence[FieldRule]]) -> list[kind_pb2.FieldRule]:
    """Collects the rules of a model's fields, and of those of the models that it holds. It may not contain itself.

    Raises `ValueError` for a sensitive field that must have a value.
    """
    rules: dict[str, kind_pb2.FieldRule] = {}
    by_path = [(path, rule) for path, given in more.items() for rule in ([given] if isinstance(given, FieldRule) else given)]
    for path, found in [*_of_model(model, ""), *by_path]:
        found.apply(rules.setdefault(path, kind_pb2.FieldRule(path=path)))
    return list(rules.values())


def _of_model(model: type[BaseModel], path: str) -> Iterator[tuple[str, FieldRule]]:
    for name, field in model.model_fields.items():
        at = f"{path}/{escape(field_alias(name, field))}"
        of_field = [*_own(field.metadata, at), *_of_type(field.annotation, at)]
        if any(isinstance(rule, Sensitive) and where == at for where, rule in of_field) and field.is_required():
            message = f"field {name} of class {model.__qualname__}: a sensitive field is `| None = None`, as its value is not in the document"
            raise ValueError(message)
        yield from of_field


def field_alias(name: str, field: FieldInfo) -> str:
    """Returns the name of a field in the document."""
    return field.serialization_alias or field.alias or name


def _own(metadata: list[Any], path: str) -> Iterator[tuple[str, FieldRule]]:
    yield from ((path, rule) for rule in metadata if isinstance(rule, FieldRule))


def _of_type(annotation: Any, path: str) -> Iterator[tuple[str, FieldRule]]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from _of_model(annotation, path)
    elif origin is Annotated:
        yield from _own(list(arguments[1:]), path)
        yield from _of_type(arguments[0], path)
    elif origin in (typing.Union, types.UnionType):
        for argument in arguments:
            yield from _of_type(argument, path)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        yield from _of_type(arguments[-1], f"{path}/*")
    elif isinstance(origin, type):
        for argument in arguments:
            yield from _of_type(argument, f"{path}/*")
