"""What a plugin answers: observations, outcomes, operations, lists. None of their reprs shows connection details."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypedDict, Unpack

from pydantic import BaseModel

from .failure import Failure
from .handle import Handle


class OperationVerb(enum.Enum):
    """What an operation does."""

    CREATE = 1
    UPDATE = 2
    DELETE = 3


@dataclass(frozen=True)
class WarningEvent:
    """Worth an event: a stable reason in PascalCase, and a sentence."""

    reason: str
    message: str


class _OfOperation(TypedDict, total=False):
    poll_after: timedelta | float | None
    progress: int | None
    phase: str
    message: str
    expires: datetime | None
    poll_driven: bool
    upstream_id: str


class _OfOutcome(TypedDict, total=False):
    external_name: str
    canonical_id: str
    provider_state: str
    connection: Mapping[str, bytes | str]
    warnings: Sequence[WarningEvent]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """Work upstream that outlasts a call, and the handle by which any replica, and the next version, can follow it.

    The handle is not empty, has at most 4 KiB, holds no secrets, and stays the same from poll to poll unless it must change: each change
    costs the bridge a write. `Handle` writes and reads one.
    """

    handle: str
    verb: OperationVerb
    poll_after: timedelta | float | None = None
    """Earliest next poll, in seconds; the bridge takes more than an hour for an hour."""
    progress: int | None = None
    """How far it has got, 0 to 100."""
    phase: str = ""
    """The step it is in, in PascalCase: a condition's reason."""
    message: str = ""
    """What users read of its progress."""
    expires: datetime | None = None
    """Polls after this may raise `OperationExpired`; at least 24 h ahead. Unset: never."""
    poll_driven: bool = False
    """It moves only when polled."""
    upstream_id: str = ""
    """The upstream's own id, for support tickets."""

    @classmethod
    def create(cls, handle: str | Handle, **more: Unpack[_OfOperation]) -> Operation:
        """Returns an operation that creates."""
        return cls(handle=str(handle), verb=OperationVerb.CREATE, **more)

    @classmethod
    def update(cls, handle: str | Handle, **more: Unpack[_OfOperation]) -> Operation:
        """Returns an operation that updates."""
        return cls(handle=str(handle), verb=OperationVerb.UPDATE, **more)

    @classmethod
    def delete(cls, handle: str | Handle, **more: Unpack[_OfOperation]) -> Operation:
        """Returns an operation that deletes."""
        return cls(handle=str(handle), verb=OperationVerb.DELETE, **more)


@dataclass(frozen=True, kw_only=True)
class Observation:
    """An external resource that exists, as it is. Not ready unless it is said."""

    external_name: str
    parameters: BaseModel = field(repr=False)
    """In the shape of the desired parameters. Sensitive fields and nulls are left out by the SDK."""
    status: BaseModel | None = field(default=None, repr=False)
    """What is only observed."""
    ready: bool = False
    ready_message: str = ""
    """Why not, for people."""
    canonical_id: str = ""
    """Globally unique id (ARN, self link), to catch two owners of one thing."""
    provider_state: str = ""
    """To be handed back on every later call. At most 4 KiB, no secrets. Empty keeps the former one."""
    etag: str = ""
    """The upstream's version of the resource, handed back on update and delete."""
    found_marker: str = ""
    """The marker found on it; empty where no owner has claimed it. If it cannot be read, raise a failure instead."""
    deleting: bool = False
    """Removal has begun upstream and goes on by itself."""
    operation: Operation | None = None
    """An operation was found running."""
    connection: Mapping[str, bytes | str] = field(default_factory=dict, repr=False)
    """Keys for the connection Secret. One that is missing stays as it was published."""
    observe_after: timedelta | float | None = None
    """Observe again no sooner than this."""
    up_to_date: bool | None = None
    """Where the plugin compares (`Kind.plugin_compares`): whether observed and desired state agree."""
    differs: Mapping[str, bool] = field(default_factory=dict)
    """Where the plugin compares: the fields that differ, by JSON Pointer, and whether each needs a replacement."""
    warnings: Sequence[WarningEvent] = ()


@dataclass(frozen=True)
class Absent:
    """The upstream itself reports that there is no such resource. A read that failed is a failure, never this."""

    external_name: str = ""
    """The name that it would have, where names are derived."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a call that changes something ended, or goes on: with the name, the id, the state and connection details as soon as they are known."""

    external_name: str = ""
    """The name, as soon as it is known. Never changes."""
    result: Observation | Operation | Failure | None = None
    already_done: bool = False
    canonical_id: str = ""
    provider_state: str = ""
    connection: Mapping[str, bytes | str] = field(default_factory=dict, repr=False)
    warnings: Sequence[WarningEvent] = ()

    @classmethod
    def completed(cls, observation: Observation | None = None, *, already_done: bool = False, **more: Unpack[_OfOutcome]) -> Outcome:
        """The call's whole effect is in place and was verified upstream.

        An observation after it saves the bridge an Observe; not after a delete. Name, id, state and connection details are taken from it where
        the outcome has none of its own. `already_done`: delete found nothing, or create found its own earlier work.
        """
        return cls(result=observation, already_done=already_done, **more)

    @classmethod
    def operation(cls, operation: Operation, **more: Unpack[_OfOutcome]) -> Outcome:
        """Under way: the bridge stores the operation, then polls."""
        return cls(result=operation, **more)

    @classmethod
    def failed(cls, failure: Failure, **more: Unpack[_OfOutcome]) -> Outcome:
        """Rejected, or failed half-way. Where nothing else is to be reported, raising the failure does the same."""
        return cls(result=failure, **more)


@dataclass(frozen=True, kw_only=True)
class ListedItem:
    """One external resource that exists."""

    external_name: str
    canonical_id: str = ""
    display_name: str = ""
    parameters: BaseModel | None = field(default=None, repr=False)
    """Ready to become `spec.forProvider`."""
    found_marker: str = ""
    """Who owns it already, where marked."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One page of the external resources that exist."""

    items: Sequence[ListedItem]
    next_page_token: str = ""
    """Empty on the last page."""
    unreachable: Sequence[str] = ()
    """Regions or scopes that did not answer."""
