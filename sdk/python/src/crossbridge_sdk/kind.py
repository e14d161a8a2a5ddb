"""What a kind is, beside its types: names, recovery, capabilities, timeouts, examples."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from google.protobuf.duration_pb2 import Duration
from pydantic import BaseModel

from . import document
from ._proto import kind_pb2, target_pb2
from .model import FieldRule

# Of a token's retention: the contract's 10,000 years.
FOR_EVER = timedelta(seconds=315_576_000_000)


class NameSource(enum.Enum):
    """How the names of external resources come about."""

    USER = 1
    PROVIDER = 2
    DERIVED = 3


@dataclass(frozen=True)
class ExternalName:
    """How the names of a kind's external resources come about. The example is one that is valid."""

    source: NameSource
    example: str
    pattern: str = ""
    max_length: int = 0

    @classmethod
    def by_user(cls, example: str, *, pattern: str = "", max_length: int = 0) -> ExternalName:
        """The user gives the name, by annotation or `metadata.name`. The pattern is RE2, anchored; the length is in bytes."""
        return cls(NameSource.USER, example, pattern, max_length)

    @classmethod
    def by_upstream(cls, example: str, *, pattern: str = "", max_length: int = 0) -> ExternalName:
        """The upstream gives the name, in the answer to create."""
        return cls(NameSource.PROVIDER, example, pattern, max_length)

    @classmethod
    def derived(cls, example: str, *, pattern: str = "", max_length: int = 0) -> ExternalName:
        """The plugin works the name out from the parameters, and reports it in observe and create."""
        return cls(NameSource.DERIVED, example, pattern, max_length)


class RecoveryWay(enum.Enum):
    """What resolves a creation with an unknown outcome."""

    DETERMINISTIC_NAME = 2
    CLIENT_TOKEN = 3
    MARKER = 4


@dataclass(frozen=True)
class Recovery:
    """How a creation with an unknown outcome is resolved."""

    way: RecoveryWay
    retention: timedelta | None = None

    @classmethod
    def by_name(cls) -> Recovery:
        """The name is known beforehand, so Observe finds it."""
        return cls(RecoveryWay.DETERMINISTIC_NAME)

    @classmethod
    def by_token(cls, retention: timedelta = FOR_EVER) -> Recovery:
        """The upstream honours the client request token for this long after its first use, so the same create resolves it."""
        return cls(RecoveryWay.CLIENT_TOKEN, retention)

    @classmethod
    def by_marker(cls) -> Recovery:
        """Observe with an empty name finds it by its marker, which the creating request itself sets."""
        return cls(RecoveryWay.MARKER)


@dataclass(frozen=True)
class PrinterColumn:
    """A column of `kubectl get`: heading, OpenAPI type, JSONPath in the object."""

    name: str
    data_type: str
    json_path: str


@dataclass(frozen=True)
class ConnectionKey:
    """A key that may appear in the connection details; `one_time`: the upstream gives it only once, around the creation."""

    name: str
    description: str = ""
    one_time: bool = False


@dataclass(frozen=True, kw_only=True)
class Example:
    """A fixture for docs and for the conformance kit: parameters by value or as JSON. It is checked when the plugin starts.

    `invalid` passes the schema, and the plugin rejects it with `INVALID_SPEC` all the same. `sensitive` has invented values by JSON Pointer.
    `requires` names examples that must exist first: `Kind/name`.
    """

    name: str
    create: BaseModel | Mapping[str, Any] | None = None
    update: BaseModel | Mapping[str, Any] | None = None
    invalid: Mapping[str, Any] | None = None
    external_name: str = ""
    sensitive: Mapping[str, str] = field(default_factory=dict)
    requires: Sequence[str] = ()

    def to_wire(self) -> kind_pb2.KindExample:
        """Returns it as it is published."""
        return kind_pb2.KindExample(
            name=self.name,
            external_name=self.external_name,
            create_parameters=_document(self.create),
            update_parameters=_document(self.update),
            invalid_parameters=_document(self.invalid),
            sensitive_values=self.sensitive,
            requires=self.requires,
        )


def _document(value: BaseModel | Mapping[str, Any] | None) -> target_pb2.Document | None:
    if value is None:
        return None
    written = document.write(value) if isinstance(value, BaseModel) else dict(value)
    return target_pb2.Document(json=document.text(written))


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a kind is, beside its types. It is namespaced, and can be created, updated and deleted, unless said otherwise.

    `recovery` is how a creation with an unknown outcome is resolved, best first; without any, the bridge stops and a person decides.
    `plural` is the kind in lower case with an `s`, unless it is given. An `asynchronous` kind hands out operations, and has `poll`. `field_rules` are
    by JSON Pointer (`*` for any index or key), for models that cannot be annotated. The rest is of the contract's `KindCapabilities` and `Timeouts`.
    """

    group: str
    version: str
    kind: str
    names: ExternalName
    recovery: Sequence[Recovery] = ()
    examples: Sequence[Example] = ()
    plural: str = ""
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    description: str = ""
    namespaced: bool = True
    printer_columns: Sequence[PrinterColumn] = ()
    connection_keys: Sequence[ConnectionKey] = ()
    can_create: bool = True
    can_update: bool = True
    can_delete: bool = True
    holds_marker: bool = False
    consistency_window: timedelta | None = None
    late_margin: timedelta | None = None
    visible_when_accepted: bool = False
    plugin_compares: bool = False
    concurrent_update: bool = False
    delete_during_create: bool = False
    rate_limit_group: str = ""
    call_timeout: timedelta | None = None
    create_timeout: timedelta | None = None
    update_timeout: timedelta | None = None
    delete_timeout: timedelta | None = None
    asynchronous: bool = False
    list_filter: type[BaseModel] | None = None
    field_rules: Mapping[str, FieldRule | Sequence[FieldRule]] = field(default_factory=dict)

    @property
    def resource_type(self) -> target_pb2.ResourceType:
        """Returns group, version and kind."""
        return target_pb2.ResourceType(group=self.group, version=self.version, kind=self.kind)

    @property
    def ways(self) -> list[RecoveryWay]:
        """Returns how a creation with an unknown outcome is resolved, best first."""
        return [recovery.way for recovery in self.recovery]

    def to_wire(self) -> kind_pb2.ResourceKind:
        """Returns it as it is published, save for what comes of its types."""
        retentions = [recovery.retention for recovery in self.recovery if recovery.way is RecoveryWay.CLIENT_TOKEN]
        timeouts = [self.call_timeout, self.create_timeout, self.update_timeout, self.delete_timeout]
        wire = kind_pb2.ResourceKind(
            resource_type=self.resource_type,
            plural=self.plural or f"{self.kind.lower()}s",
            short_names=self.short_names,
            categories=self.categories,
            namespaced=self.namespaced,
            description=self.description,
            printer_columns=[
                kind_pb2.PrinterColumn(name=column.name, data_type=column.data_type, json_path=column.json_path) for column in self.printer_columns
            ],
            capabilities=kind_pb2.KindCapabilities(
                can_create=self.can_create,
                can_update=self.can_update,
                can_delete=self.can_delete,
                create_recovery=[f"CREATE_RECOVERY_{way.name}" for way in self.ways],
                token_retention=wire_duration(retentions[0]) if retentions else None,
                consistency_window=wire_duration(self.consistency_window),
                holds_marker=self.holds_marker or RecoveryWay.MARKER in self.ways,
                diff_mode=kind_pb2.DIFF_MODE_PLUGIN if self.plugin_compares else kind_pb2.DIFF_MODE_UNSPECIFIED,
                concurrent_update=self.concurrent_update,
                delete_during_create=self.delete_during_create,
                rate_limit_group=self.rate_limit_group,
                late_margin=wire_duration(self.late_margin),
                visible_when_accepted=self.visible_when_accepted,
            ),
            external_name=kind_pb2.ExternalNameRules(
                source=f"EXTERNAL_NAME_SOURCE_{self.names.source.name}",
                pattern=self.names.pattern,
                max_length=self.names.max_length,
                example=self.names.example,
            ),
            connection_keys=[
                kind_pb2.ConnectionKey(name=key.name, description=key.description, one_time=key.one_time) for key in self.connection_keys
            ],
            examples=[example.to_wire() for example in self.examples],
        )
        if any(timeouts):
            names = ("call_timeout", "create_timeout", "update_timeout", "delete_timeout")
            durations = {name: wire_duration(value) for name, value in zip(names, timeouts, strict=True)}
            wire.timeouts.CopyFrom(kind_pb2.Timeouts(**durations))
        return wire


def wire_duration(value: timedelta | None) -> Duration | None:
    """Returns a duration of the contract, which is at most for ever."""
    if value is None:
        return None
    duration = Duration()
    duration.FromTimedelta(min(value, FOR_EVER))
    return duration
