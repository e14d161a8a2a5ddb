"""A kind as it is published, checked before anything is served, and what its rules require of a call."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import grpc
from google.protobuf.message import Message
from pydantic import BaseModel

from . import document, schema, violation
from ._proto import kind_pb2, target_pb2
from .document import Mismatch
from .failure import InvalidArgument, InvalidSpec, Rejected
from .kind import Kind, NameSource, RecoveryWay
from .model import field_rules
from .resource import Resource, documents, has, place
from .violation import Violation, missing, quoted

# Longest timeout of one call, in seconds.
CALL_LIMIT = 60
# What Python knows and RE2 does not: assertions, references to groups, atomic groups, possessive quantifiers.
_NOT_RE2 = re.compile(r"(?<!\\)(?:\\\\)*(\(\?(?:[=!>(]|<[=!]|P=)|\\[1-9]|[*+?}]\+)")
_COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")
_METHODS = {"create": "can_create", "update": "can_update", "delete": "can_delete"}


class DeclarationError(Exception):
    """The plugin is declared wrongly: nothing is served. Names the kind, the class and its file, and what is wrong."""


def type_text(resource_type: target_pb2.ResourceType) -> str:
    """Returns a type as messages and page tokens name it."""
    return f"{resource_type.kind}.{resource_type.group}/{resource_type.version}"


class PublishedKind:
    """A kind with the author's class that serves it, complete and checked."""

    def __init__(self, resource: Resource[Any, Any]) -> None:
        given: object = resource
        kind = getattr(resource, "kind", None)
        if not isinstance(given, Resource) or not isinstance(kind, Kind):
            hint = f"; give an instance: {given.__qualname__}()" if isinstance(given, type) else ""
            raise DeclarationError(f"{resource!r} is no Resource with a `kind = Kind(…)`{hint}")
        self.resource = resource
        self.kind = kind
        try:
            self._build(type(resource))
        except Violation as broken:
            raise self._wrong(str(broken)) from None
        except (schema.NotStructural, Mismatch, ValueError, TypeError) as error:
            raise self._wrong(str(error)) from None
        except Exception as error:
            raise self._wrong(f"{type(error).__name__}: {error}") from error

    def _wrong(self, problem: str) -> DeclarationError:
        return DeclarationError(f"kind {self.kind.kind}: {problem} ({self.place})")

    @property
    def place(self) -> str:
        """Returns the class and its file, for messages to its author."""
        return place(type(self.resource))

    def _build(self, resource: type[Resource[Any, Any]]) -> None:
        kind = self.kind
        types = documents(resource)
        if types is None:
            raise TypeError("the class names no types: write `class …(Resource[Parameters, Status])`")
        self.parameters, self.status = types
        self.wire = kind.to_wire()
        self.wire.parameters_schema_json = _schema(self.parameters, "parameters")
        self.wire.status_schema_json = _schema(self.status, "status")
        if kind.list_filter is not None:
            self.wire.list_filter_schema_json = _schema(kind.list_filter, "list filter")
        if not self.wire.description:
            # Not `inspect.getdoc`, which would take that of `Resource`.
            self.wire.description = inspect.cleandoc(resource.__doc__ or self.parameters.__doc__ or "")
        self.wire.field_rules.extend(field_rules(self.parameters, kind.field_rules))
        self.sensitive_paths = tuple(rule.path for rule in self.wire.field_rules if rule.sensitive)
        self.type = type_text(self.wire.resource_type)
        self.listable = has(resource, "list")
        self.asynchronous = has(resource, "poll")
        check_kind(self.wire)
        self._name_pattern = _name_pattern(kind.names.pattern)
        self._check_methods(resource)
        self._check_examples()
        self.digest = hashlib.sha256(self.wire.SerializeToString(deterministic=True)).hexdigest()

    def _check_methods(self, resource: type[Resource[Any, Any]]) -> None:
        kind = self.kind
        needed = ["observe", *(method for method, can in _METHODS.items() if getattr(kind, can))]
        needed += ["poll"] if kind.asynchronous else []
        needed += ["list"] if kind.list_filter is not None else []
        for method in needed:
            if not has(resource, method):
                instead = f", or declare `{_METHODS[method]}=False`" if method in _METHODS else ""
                raise TypeError(f"there is no method {method}: write one{instead}")
        for method in ("observe", "create", "update", "delete", "poll", "list"):
            if has(resource, method):
                try:
                    inspect.signature(getattr(self.resource, method)).bind(None, None)
                except TypeError:
                    raise TypeError(f"method {method} does not take (self, call, request)") from None

    def _check_examples(self) -> None:
        names = [("external_name.example", self.kind.names.example)]
        for example in self.wire.examples:
            if example.external_name:
                names.append((f"the external name of example {quoted(example.name)}", example.external_name))
            for parameters in ("create_parameters", "update_parameters"):
                if example.HasField(parameters):
                    value = document.parse_object(getattr(example, parameters).json, parameters)
                    try:
                        document.read(self.parameters, value)
                    except Mismatch as mismatch:
                        path, problem = mismatch.problems[0]
                        raise ValueError(f"example {quoted(example.name)} at {quoted(path)}: {problem}") from None
        for what, name in names:
            problem = self._name_problem(name)
            if problem:
                raise ValueError(f"{what}: {problem}")

    def _name_problem(self, name: str) -> str:
        limit, length = self.kind.names.max_length, len(name.encode())
        if length > limit > 0:
            return f"{quoted(name)} has {length} bytes; at most {limit} are allowed"
        if self._name_pattern is not None and not self._name_pattern.fullmatch(name):
            return f"{quoted(name)} does not match {quoted(self.kind.names.pattern)}"
        return ""

    def check_name(self, rpc: str, name: str) -> None:
        """Whether a call may come with this external name, perhaps none."""
        source = self.kind.names.source
        if not name:
            if rpc == "Create" and source is NameSource.USER:
                raise InvalidArgument("target.external_name", "is required: the user gives this kind's names")
            if rpc == "Observe" and source is not NameSource.DERIVED and RecoveryWay.MARKER not in self.kind.ways:
                raise InvalidArgument("target.external_name", "is required: this kind cannot be observed without a name")
            return
        if rpc == "Create" and source is NameSource.PROVIDER:
            raise InvalidArgument("target.external_name", "is not allowed: the upstream gives this kind's names")
        problem = self._name_problem(name)
        if problem:
            message = f"the external name is not valid: {problem}"
            raise InvalidSpec(message, reason="InvalidExternalName", violations={"": problem})

    def check_capability(self, rpc: str) -> None:
        """Whether the kind serves the call."""
        serves = {
            "Create": self.kind.can_create,
            "Update": self.kind.can_update,
            "Delete": self.kind.can_delete,
            "PollOperation": self.asynchronous,
            "ListExternal": self.listable,
        }
        if not serves.get(rpc, True):
            raise Rejected(grpc.StatusCode.UNIMPLEMENTED, f"{self.type} does not serve {rpc}")


def _schema(model: type[BaseModel], what: str) -> str:
    try:
        return document.text(schema.structural(model))
    except schema.NotStructural as error:
        raise schema.NotStructural(f"the type of the {what}: {error}") from None


def _name_pattern(pattern: str) -> re.Pattern[str] | None:
    if not pattern:
        return None
    beyond = _NOT_RE2.search(pattern)
    if beyond:
        raise ValueError(f"external_name.pattern: {quoted(beyond[1])} is none of RE2")
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise ValueError(f"external_name.pattern: {error}") from None


def _each(items: Sequence[Any], name: str, check: Callable[[Any], None]) -> None:
    for index, item in enumerate(items):
        try:
            check(item)
        except Violation as broken:
            raise broken.within(f"{name}[{index}]") from None


def _within(name: str, check: Callable[[Any], None], part: Message) -> None:
    try:
        check(part)
    except Violation as broken:
        raise broken.within(name) from None


def check_type(resource_type: target_pb2.ResourceType) -> None:
    """Checks the forms of group, version and kind."""
    violation.dns_subdomain(resource_type.group, "group")
    violation.dns_label(resource_type.version, "version")
    violation.pascal_case(resource_type.kind, "kind")


def check_kind(kind: kind_pb2.ResourceKind) -> None:
    """Runs the bridge's own checks, before it meets this kind."""
    _within("resource_type", check_type, kind.resource_type)
    violation.dns_label(kind.plural, "plural")
    for names, name in ((kind.short_names, "short_names"), (kind.categories, "categories")):
        for index, one in enumerate(names):
            violation.dns_label(one, f"{name}[{index}]")
        violation.distinct(names, name)
    parameters = document.parse_object(kind.parameters_schema_json, "parameters_schema_json")
    schema.check(parameters, "parameters_schema_json")
    schema.check(document.parse_object(kind.status_schema_json, "status_schema_json"), "status_schema_json")
    _each(kind.printer_columns, "printer_columns", _check_column)
    _within("capabilities", _check_capabilities, kind.capabilities)
    violation.required(kind.external_name.example, "external_name.example")
    if kind.external_name.max_length < 0:
        raise Violation("external_name.max_length", "is out of range: 0 or more is allowed")
    _each(kind.field_rules, "field_rules", lambda rule: _check_rule(rule, parameters))
    _each(kind.connection_keys, "connection_keys", lambda key: violation.secret_key(key.name, "name"))
    if kind.timeouts.HasField("call_timeout") and not 0 < kind.timeouts.call_timeout.ToNanoseconds() <= CALL_LIMIT * 10**9:
        raise Violation("timeouts.call_timeout", "is out of range: more than 0s, at most 60s is allowed")
    _each(kind.examples, "examples", _check_example)
    violation.distinct([column.name for column in kind.printer_columns], "printer_columns", "name")
    violation.distinct([key.name for key in kind.connection_keys], "connection_keys", "name")
    violation.distinct([example.name for example in kind.examples], "examples", "name")
    _check_recovery(kind)
    _check_fixtures(kind)


def _check_column(column: kind_pb2.PrinterColumn) -> None:
    for name in ("name", "data_type", "json_path"):
        violation.required(getattr(column, name), name)
    of = "integer, number, string, boolean or date"
    violation.form(holds=column.data_type in _COLUMN_TYPES, of=of, field="data_type")
    violation.form(holds=column.json_path.startswith("."), of="a JSONPath that begins with a dot", field="json_path")


def _check_capabilities(capabilities: kind_pb2.KindCapabilities) -> None:
    ways = list(capabilities.create_recovery)
    violation.distinct([kind_pb2.CreateRecovery.Name(way) for way in ways], "create_recovery")
    if kind_pb2.CREATE_RECOVERY_CLIENT_TOKEN in ways and capabilities.token_retention.ToNanoseconds() <= 0:
        raise missing("token_retention", "with CLIENT_TOKEN")
    for name in ("consistency_window", "late_margin"):
        if getattr(capabilities, name).ToNanoseconds() < 0:
            raise Violation(name, "is out of range: 0s or more is allowed")


def _check_rule(rule: kind_pb2.FieldRule, parameters: schema.Schema) -> None:
    violation.pointer(rule.path, "path")
    if rule.HasField("reference"):
        _within("reference.resource_type", check_type, rule.reference.resource_type)
        if rule.reference.extract:
            violation.pointer(rule.reference.extract, "reference.extract")
    node: Any = parameters
    for segment in document.segments(rule.path):
        if node.get("type") == "array":
            if segment != "*" and not segment.isdecimal():
                raise Violation("path", f"is not allowed: {quoted(rule.path)} names {quoted(segment)} in a list; write * for any item")
            child = node.get("items")
        else:
            child = node.get("properties", {}).get(segment) or node.get("additionalProperties")
        if isinstance(child, dict):
            node = child
        elif "x-kubernetes-preserve-unknown-fields" in node or child is True:
            return
        else:
            raise Violation("path", f"is not allowed: {quoted(rule.path)} is not in the schema of the parameters")


def _check_example(example: kind_pb2.KindExample) -> None:
    violation.required(example.name, "name")
    for pointer in example.sensitive_values:
        violation.pointer(pointer, f"sensitive_values[{quoted(pointer)}]")


def _check_recovery(kind: kind_pb2.ResourceKind) -> None:
    ways, source = kind.capabilities.create_recovery, kind.external_name.source
    by_name = kind_pb2.CREATE_RECOVERY_DETERMINISTIC_NAME in ways
    if by_name and source == kind_pb2.EXTERNAL_NAME_SOURCE_PROVIDER:
        raise Violation("capabilities.create_recovery", "is not allowed: a name that the upstream gives is no DETERMINISTIC_NAME")
    is_found = by_name or kind_pb2.CREATE_RECOVERY_MARKER in ways
    if kind.capabilities.can_create and not is_found and source != kind_pb2.EXTERNAL_NAME_SOURCE_PROVIDER:
        when = "where the name is known before anything is created: DETERMINISTIC_NAME, or MARKER, or both"
        raise missing("capabilities.create_recovery", when)


def _check_fixtures(kind: kind_pb2.ResourceKind) -> None:
    if not kind.capabilities.can_create:
        return
    when = "where the kind can be created"
    if not kind.examples:
        raise missing("examples", when)
    for index, example in enumerate(kind.examples):
        if not example.HasField("create_parameters"):
            raise missing(f"examples[{index}].create_parameters", when)
        if not example.external_name and kind.external_name.source == kind_pb2.EXTERNAL_NAME_SOURCE_USER:
            raise missing(f"examples[{index}].external_name", "where the user gives the name")
