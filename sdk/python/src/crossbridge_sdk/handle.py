"""Handles and provider states that any replica, and the next build, can read."""

from __future__ import annotations

import json
from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from .failure import InvalidArgument
from .violation import STATE_LIMIT

H = TypeVar("H", bound="Handle")


class Handle(BaseModel):
    """What is needed to ask the upstream about an operation, as text: `class Growing(Handle): plant: str`.

    `str(handle)` is the text, which is the same each time and begins with the version; `Growing.parse(poll.handle)` reads it, and raises
    `InvalidArgument` for one that is none of this plugin's. Raise `handle_version` when fields change their meaning, and let `upgrade` read what
    earlier builds wrote. Not for secrets: each poll carries today's credentials.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    handle_version: ClassVar[int] = 1
    handle_field: ClassVar[str] = "handle"
    """The field of a request that it comes back in: `target.provider_state` for a state."""

    @classmethod
    def upgrade(cls, version: int, fields: dict[str, object]) -> dict[str, object] | None:
        """Returns the fields of today for those that an earlier version wrote; None: not known."""
        return fields if version == cls.handle_version else None

    @classmethod
    def parse(cls: type[H], text: str) -> H:
        """Reads a text that came back."""
        version, _, rest = text.partition(":")
        try:
            fields = json.loads(rest)
            known = cls.upgrade(int(version), fields) if version.isdecimal() and isinstance(fields, dict) else None
            if known is not None:
                return cls.model_validate_json(json.dumps(known), strict=True)
        except (ValueError, RecursionError, ValidationError):
            pass
        raise InvalidArgument(cls.handle_field, "is malformed or foreign: none of this plugin's")

    def __str__(self) -> str:
        text = f"{self.handle_version}:{json.dumps(self.model_dump(mode='json'), ensure_ascii=False, separators=(',', ':'), sort_keys=True)}"
        if len(text.encode()) > STATE_LIMIT:
            raise ValueError(f"{type(self).__qualname__}: a handle of {len(text.encode())} bytes; at most {STATE_LIMIT} are allowed")
        return text
