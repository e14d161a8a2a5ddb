"""JSON objects: read from text, written as text, found and removed by JSON Pointer."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from .violation import Violation, required

# The JSON object of a document. Integers are exact, however large.
Json = dict[str, Any]

# Objects and lists within one another, as in the other SDKs.
DEEPEST = 128

M = TypeVar("M", bound=BaseModel)


def _not_a_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is out of range")
    return number


_DECODER = json.JSONDecoder(parse_constant=_not_a_number, parse_float=_finite)


def _depth(value: Any) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, children), default=0)


def parse_object(text: str, field: str) -> Json:
    """Parses the text of one object. The violation's path is `field`, and quotes nothing of the text."""
    required(text, field)
    try:
        value = _DECODER.decode(text)
        if text.count("{") + text.count("[") > DEEPEST and _depth(value) > DEEPEST:
            raise RecursionError
        if "\\ud" in text.lower():
            # Half a surrogate pair is no text.
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at line {error.lineno} column {error.colno}"
    except UnicodeEncodeError:
        problem = "it holds half of a surrogate pair"
    except (ValueError, RecursionError) as error:
        problem = "it is nested too deeply" if isinstance(error, RecursionError) else "it holds a number that is none of JSON, or too large"
    else:
        if isinstance(value, dict):
            return value
        problem = "it is another JSON value"
    raise Violation(field, f"is not the text of a JSON object: {problem}")


def text(document: Json) -> str:
    """Returns the one text that an object has here: compact, its keys in order."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def value_text(value: Any) -> str:
    """Returns the JSON text of any value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


class Mismatch(Exception):
    """A document does not fit its model: the field by its JSON Pointer, empty for the whole, and the problem."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path or 'the document'}: {problem}" for path, problem in problems))
        self.problems = problems


def read(model: type[M], document: Json) -> M:
    """Reads a document as JSON of these types, nothing coerced."""
    try:
        return model.model_validate_json(text(document), strict=True)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        problems = [(_pointer(document, detail["loc"], detail["type"]), detail["msg"].removeprefix("Value error, ")) for detail in details]
    raise Mismatch(problems)


def _pointer(document: Json, location: Sequence[str | int], problem: str) -> str:
    """Pydantic names the branches of unions too, which are no part of the document."""
    path, node = "", cast("Any", document)
    for index, segment in enumerate(location):
        is_last = index == len(location) - 1
        match node:
            case dict() if segment in node:
                node = node[segment]
            case list() if isinstance(segment, int) and segment < len(node):
                node = node[segment]
            case _ if is_last and problem == "missing":
                pass
            case _:
                continue
        path += "/" + escape(str(segment))
    return path


def write(model: BaseModel) -> Json:
    """Writes a document, without the members that are null: no opinion is an absent field."""
    value = json.loads(model.model_dump_json(by_alias=True, exclude_none=True, warnings="error"))
    if not isinstance(value, dict):
        raise TypeError(f"{type(model).__qualname__} is no JSON object")
    return {name: _without_nulls(member) for name, member in value.items() if member is not None}


def _without_nulls(value: Any) -> Any:
    match value:
        case dict():
            return {name: _without_nulls(member) for name, member in value.items() if member is not None}
        case list():
            return [_without_nulls(item) for item in value]
        case _:
            return value


def escape(segment: str) -> str:
    """Returns a name as a segment of a JSON Pointer."""
    return segment.replace("~", "~0").replace("/", "~1")


def segments(pointer: str) -> list[str]:
    """Returns the names of a JSON Pointer."""
    return [segment.replace("~1", "/").replace("~0", "~") for segment in pointer.split("/")[1:]]


def at(document: Any, pointer: str) -> Any:
    """Returns what stands at a JSON Pointer; None: nothing."""
    node = document
    for segment in segments(pointer):
        match node:
            case dict() if segment in node:
                node = node[segment]
            case list() if segment.isdecimal() and int(segment) < len(node):
                node = node[int(segment)]
            case _:
                return None
    return node


def remove(document: Any, path: str) -> None:
    """Removes what stands at a field rule's path, where `*` stands for any index or key."""
    _remove(document, segments(path))


def _remove(node: Any, path: list[str]) -> None:
    first, rest = path[0], path[1:]
    match node:
        case dict() if not rest:
            if first == "*":
                node.clear()
            else:
                node.pop(first, None)
        case dict():
            for child in list(node.values()) if first == "*" else [node.get(first)]:
                _remove(child, rest)
        case list() if rest:
            for child in node:
                _remove(child, rest)
        case list():
            # An item cannot be removed without moving the others; what it holds can.
            node[:] = [None] * len(node)


def matches(path: str, pointer: str) -> bool:
    """Whether a field rule's path stands for a pointer."""
    rule, way = segments(path), segments(pointer)
    return len(rule) == len(way) and all(one in ("*", other) for one, other in zip(rule, way, strict=True))
