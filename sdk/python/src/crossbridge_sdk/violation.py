"""What is wrong with a message of the contract, and the forms that its texts have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

# Condition reasons, metric labels and Kubernetes names share this length, in bytes.
LABEL_LIMIT = 63
# Handles and provider states, in bytes.
STATE_LIMIT = 4096
# What a plugin gives as a name or an id, in bytes.
GIVEN_LIMIT = 1024
# Differences of one observation.
DIFFS_LIMIT = 1024
# Warnings of one answer.
WARNINGS_LIMIT = 16
# Fields at fault that one failure names.
VIOLATIONS_LIMIT = 64
# Connection details of one answer, in bytes, keys included.
DETAILS_LIMIT = 1024 * 1024
# The name of a Kubernetes object, the key of a Secret.
NAME_LIMIT = 253

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_PASCAL_CASE = re.compile(r"[A-Z][A-Za-z0-9]*")
_MARKER = re.compile(r"[a-z][a-z0-9-]*")
_DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_NAME_LABEL = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
_SECRET_KEY = re.compile(r"[A-Za-z0-9._-]+")
_POINTER = re.compile(r"/([^~]|~[01])*", re.DOTALL)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NUMBER = r"(0|[1-9]\d*)"
_SEMANTIC_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)


class Violation(Exception):
    """A message breaks the contract: the field by its dotted path, and the rule. Holds no value that may be secret."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(field, rule)
        self.field = field
        self.rule = rule

    def within(self, field: str) -> Violation:
        """Returns the same, seen from the message that holds this one in `field`."""
        return Violation(f"{field}.{self.field}" if self.field else field, self.rule)

    def __str__(self) -> str:
        return f"{self.field} {self.rule}"


def missing(field: str, when: str = "") -> Violation:
    """Returns the violation of a REQUIRED field that is not set."""
    return Violation(field, f"is required{' ' + when if when else ''}, and is not set")


def required(value: str, field: str) -> None:
    """Rejects an empty text."""
    if not value:
        raise missing(field)


def at_most(value: str, limit: int, field: str) -> None:
    """Rejects a text of more bytes."""
    length = len(value.encode())
    if length > limit:
        raise Violation(field, f"has {length} bytes; at most {limit} are allowed")


def count(number: int, limit: int, field: str) -> None:
    """Rejects more items."""
    if number > limit:
        raise Violation(field, f"has {number} items; at most {limit} are allowed")


def form(*, holds: bool, of: str, field: str) -> None:
    """Rejects what has not its form."""
    if not holds:
        raise Violation(field, f"is malformed: it must be {of}")


def name(value: str, field: str) -> None:
    """Checks a name or an id that a plugin gives, which may be empty."""
    at_most(value, GIVEN_LIMIT, field)
    form(holds=_CONTROL.search(value) is None, of="without control characters", field=field)


def details(values: Mapping[str, bytes], field: str) -> None:
    """Rejects connection details that are too large together."""
    length = sum(len(key.encode()) + len(value) for key, value in values.items())
    if length > DETAILS_LIMIT:
        raise Violation(field, f"has {length} bytes; at most {DETAILS_LIMIT} are allowed")


def pascal_case(value: str, field: str) -> None:
    """Checks a reason or a phase."""
    required(value, field)
    at_most(value, LABEL_LIMIT, field)
    form(holds=_PASCAL_CASE.fullmatch(value) is not None, of="PascalCase, of ASCII letters and digits", field=field)


def marker(value: str, field: str) -> None:
    """Checks an ownership marker, which may be empty."""
    at_most(value, LABEL_LIMIT, field)
    form(holds=not value or _MARKER.fullmatch(value) is not None, of="of a-z, 0-9 and '-', beginning with a letter", field=field)


def dns_label(value: str, field: str) -> None:
    """Checks a plural, a singular, a short name, a version."""
    required(value, field)
    at_most(value, LABEL_LIMIT, field)
    of = "a DNS label: of a-z, 0-9 and '-', beginning with a letter, not ending with '-'"
    form(holds=_NAME_LABEL.fullmatch(value) is not None, of=of, field=field)


def dns_subdomain(value: str, field: str, limit: int = NAME_LIMIT) -> None:
    """Checks an API group, a plugin's name."""
    required(value, field)
    at_most(value, limit, field)
    labels = value.split(".")
    holds = all(len(label) <= LABEL_LIMIT and _DNS_LABEL.fullmatch(label) for label in labels)
    form(holds=holds, of="a DNS subdomain: labels of a-z, 0-9 and '-', joined by '.'", field=field)


def secret_key(value: str, field: str) -> None:
    """Checks a key of a Secret."""
    required(value, field)
    at_most(value, NAME_LIMIT, field)
    holds = value not in (".", "..") and _SECRET_KEY.fullmatch(value) is not None
    form(holds=holds, of="a key of a Secret: of letters, digits, '-', '_' and '.'", field=field)


def is_pointer(value: str) -> bool:
    """Whether it is a JSON Pointer, not that of the whole document."""
    return _POINTER.fullmatch(value) is not None


def pointer(value: str, field: str) -> None:
    """Checks a JSON Pointer."""
    required(value, field)
    form(holds=is_pointer(value), of="a JSON Pointer, such as /a/b", field=field)


def uuid(value: str, field: str) -> None:
    """Checks a UUID, written with hyphens."""
    required(value, field)
    form(holds=_UUID.fullmatch(value) is not None, of="a UUID, such as 123e4567-e89b-12d3-a456-426614174000", field=field)


def semantic_version(value: str, field: str) -> None:
    """Checks a version as SemVer 2 writes it."""
    required(value, field)
    form(holds=_SEMANTIC_VERSION.fullmatch(value) is not None, of="a semantic version, such as 1.2.3", field=field)


def distinct(values: Iterable[str], field: str, name: str = "") -> None:
    """Rejects a value that stands twice; `name` is the field of an item in which it stands."""
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value in seen:
            raise Violation(f"{field}[{index}]{'.' + name if name else ''}", f"is given twice: {quoted(value)}")
        seen.add(value)


def connection_keys(keys: Sequence[str]) -> None:
    """Checks that each can be a key of a Secret."""
    for key in keys:
        secret_key(key, f"connection_details[{quoted(key)}]")


def quoted(text: str) -> str:
    """Returns a text as a message quotes it."""
    return json.dumps(text, ensure_ascii=False)
