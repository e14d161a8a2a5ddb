"""JSON Schema as pydantic writes it, converted to a structural one as Kubernetes requires.

An optional field is absent from `required`; it is not `nullable`, as an absent field, not a null, means no opinion.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema

from .document import escape
from .violation import Violation, quoted

Schema = dict[str, Any]

# Formats that Kubernetes knows; it warns of others. Not its `duration` (5s): pydantic's is that of ISO 8601 (PT5S).
_FORMATS = {"byte", "date", "date-time", "double", "float", "int32", "int64", "uuid"}
_TYPES = ["array", "boolean", "integer", "number", "object", "string"]
_FORBIDDEN = [
    "$ref", "$schema", "$id", "$defs", "definitions", "dependencies", "deprecated", "discriminator", "id", "patternProperties", "readOnly",
    "writeOnly",
]  # fmt: skip
# What says nothing to Kubernetes.
_IGNORED = [
    "title", "examples", "deprecated", "discriminator", "readOnly", "writeOnly", "unevaluatedProperties", "contentMediaType",
    "contentEncoding", "propertyNames",
]  # fmt: skip
_KEEP = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"


class NotStructural(Exception):
    """A type cannot be expressed in a CRD; the message names the field."""


def structural(model: type[BaseModel]) -> Schema:
    """Returns the structural OpenAPI v3 schema of a model."""
    given: object = model
    if not (isinstance(given, type) and issubclass(given, BaseModel)):
        raise NotStructural(f"{model!r} is no pydantic model")
    try:
        schema = model.model_json_schema(by_alias=True)
    except PydanticInvalidForJsonSchema as error:
        raise NotStructural(str(error.message)) from None
    definitions = schema.pop("$defs", {})
    result = _Simplifier(definitions).simplify(schema, ())
    if result.get("type") != "object":
        raise NotStructural("the whole is no object")
    return result


class _Simplifier:
    def __init__(self, definitions: Schema) -> None:
        self.definitions = definitions

    def simplify(self, node: Any, above: tuple[str, ...]) -> Schema:
        """Converts one node, and all below it. `above`: the definitions that it stands in."""
        if not isinstance(node, dict):
            # `true` stands for any value.
            return {_KEEP: True}
        schema, above = self.inlined(dict(node), above)
        schema = _without_null(schema)
        if "$ref" in schema:
            schema, above = self.inlined(schema, above)
        for keyword in _IGNORED:
            schema.pop(keyword, None)
        self.hoist_variants(schema, above)
        _one_value(schema)
        _bounds(schema)
        _list_type(schema)
        _drop_default(schema)
        if schema.get("format") not in _FORMATS:
            schema.pop("format", None)
        _number_format(schema)
        if schema.get("additionalProperties") is False:
            schema.pop("additionalProperties")
        if "prefixItems" in schema:
            raise NotStructural("the items of a list have one type, not one for each place")
        for keyword in ("items", "additionalProperties"):
            if keyword in schema:
                schema[keyword] = self.simplify(schema[keyword], above)
        if "properties" in schema:
            schema["properties"] = {name: self.named(name, child, above) for name, child in schema["properties"].items()}
        _keep_unknown(schema)
        return schema

    def named(self, name: str, child: Any, above: tuple[str, ...]) -> Schema:
        try:
            return self.simplify(child, above)
        except NotStructural as error:
            raise NotStructural(f"{name}: {error}") from None

    def inlined(self, schema: Schema, above: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]]:
        while "$ref" in schema:
            name = schema.pop("$ref").removeprefix("#/$defs/")
            if name in above:
                raise NotStructural(f"the type {name} contains itself, which a CRD cannot express; use Any there")
            above = (*above, name)
            # The field's own description goes before its type's.
            schema = {**self.definitions[name], **schema}
        return schema, above

    def hoist_variants(self, schema: Schema, above: tuple[str, ...]) -> None:
        """Converts a union of models to one object that has the fields of all; where each has one field of its own, exactly one must be set."""
        keyword = next((keyword for keyword in ("oneOf", "anyOf", "allOf") if keyword in schema), None)
        if keyword is None or schema.get("type") == "object":
            return
        branches = [self.inlined(dict(branch), above)[0] for branch in schema.pop(keyword)]
        if {branch.get("type") for branch in branches} == {"integer", "string"} and len(branches) == 2:
            schema[_INT_OR_STRING] = True
            return
        if any(branch.get("type") != "object" for branch in branches):
            raise NotStructural("a field has one type: a union is of models only")
        properties: Schema = {}
        for branch in branches:
            for name, child in branch.get("properties", {}).items():
                properties[name] = _joined(name, properties[name], child) if name in properties else child
        required = [branch.get("required", []) for branch in branches]
        common = [name for name in required[0] if all(name in names for names in required)]
        schema.update(type="object", properties=properties)
        if common:
            schema["required"] = common
        tags = [names[0] for names in required if len(names) == 1]
        if len(set(tags)) == len(branches) > 1:
            schema["oneOf"] = [{"required": [tag]} for tag in tags]


def _without_null(schema: Schema) -> Schema:
    """`Optional` becomes its content."""
    branches = schema.get("anyOf")
    if branches is None:
        return schema
    left = [branch for branch in branches if branch.get("type") != "null"]
    if len(left) == len(branches):
        return schema
    others = {keyword: value for keyword, value in schema.items() if keyword != "anyOf"}
    if len(left) == 1:
        return _without_null({**left[0], **others})
    return {"anyOf": left, **others}


def _joined(name: str, known: Schema, other: Schema) -> Schema:
    if known == other:
        return known
    values = [_values(known), _values(other)]
    if all(value is not None for value in values):
        joined = [value for some in values if some is not None for value in some]
        return {"type": "string", "enum": joined}
    raise NotStructural(f"{name}: the models of a union give it different types")


def _values(schema: Schema) -> list[str] | None:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return values if isinstance(values, list) and all(isinstance(value, str) for value in values) else None


def _one_value(schema: Schema) -> None:
    if "const" in schema:
        value = schema.pop("const")
        schema["enum"] = [value]
    if "enum" in schema and "type" not in schema:
        kinds = {type(value) for value in schema["enum"]}
        names: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
        if len(kinds) != 1 or (kind := kinds.pop()) not in names:
            raise NotStructural("the values of an enum have one type")
        schema["type"] = names[kind]


def _bounds(schema: Schema) -> None:
    """In OpenAPI v3.0 an exclusive bound is a flag."""
    for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        value = schema.get(flag)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if schema.get("type") == "integer" and isinstance(value, int):
                schema.pop(flag)
                schema[bound] = value + (1 if bound == "minimum" else -1)
            else:
                schema[bound], schema[flag] = value, True


def _list_type(schema: Schema) -> None:
    if schema.pop("uniqueItems", False):
        schema.setdefault("x-kubernetes-list-type", "set")


def _drop_default(schema: Schema) -> None:
    """A default that changes nothing: what is absent already is null or empty."""
    match schema.get("default", ...):
        case None | []:
            schema.pop("default")
        case dict() as members if all(value is None for value in members.values()):
            schema.pop("default")


def _number_format(schema: Schema) -> None:
    """Of 64 bits, unless the field says otherwise (`Int32`)."""
    if schema.get("type") == "integer" and "enum" not in schema:
        schema.setdefault("format", "int64")
    if schema.get("type") == "number":
        schema.setdefault("format", "double")


def _keep_unknown(schema: Schema) -> None:
    """A node without a type is any value; an object without named fields is any object."""
    is_free = schema.get("additionalProperties") == {_KEEP: True}
    if is_free:
        schema.pop("additionalProperties")
    if is_free or ("type" not in schema and _INT_OR_STRING not in schema):
        schema[_KEEP] = True


def check(schema: Any, field: str) -> None:
    """Rejects a schema that the API server would not take as structural."""
    try:
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise _Problem("", "the whole must be of type object")
        _check_node(schema, "")
    except _Problem as problem:
        raise Violation(field, f"is no structural OpenAPI v3 schema: at {quoted(problem.at)}: {problem.text}") from None


class _Problem(Exception):
    def __init__(self, at: str, text: str) -> None:
        super().__init__(text)
        self.at, self.text = at, text


def _check_node(schema: Schema, at: str) -> None:
    for keyword in _FORBIDDEN:
        if keyword in schema:
            raise _Problem(at, f"{keyword} is not allowed")
    kind = schema.get("type")
    if kind is None:
        if schema.get(_INT_OR_STRING) is not True and schema.get(_KEEP) is not True:
            raise _Problem(at, "it has no type")
    elif kind not in _TYPES:
        raise _Problem(at, f"type {kind!r} is not one of {', '.join(_TYPES)}")
    if "properties" in schema and "additionalProperties" in schema:
        raise _Problem(at, "properties and additionalProperties exclude each other")
    if schema.get("additionalProperties") is False:
        raise _Problem(at, "additionalProperties may not be false")
    if kind == "array" and "items" not in schema:
        raise _Problem(at, "an array needs items")
    children = [(f"{at}/properties/{escape(name)}", child) for name, child in schema.get("properties", {}).items()]
    children += [(f"{at}/{keyword}", schema[keyword]) for keyword in ("items", "additionalProperties") if schema.get(keyword) not in (None, True)]
    for where, child in children:
        if not isinstance(child, dict):
            raise _Problem(where, "it is no schema")
        _check_node(child, where)
