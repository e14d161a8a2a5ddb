"""What a plugin is asked: about what, with which settings and credentials, until when."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel

from . import document
from .document import Json, Mismatch
from .failure import Conflict, InvalidConfig, InvalidSpec, NotFound, Timeout, Unauthenticated
from .model import field_alias

P = TypeVar("P")
M = TypeVar("M", bound=BaseModel)


class Deadline:
    """The moment after which a call begins nothing upstream any more: bound every upstream request by `remaining`, its retries included.

    It lies a little before the caller's own, so that the answer has time to travel.
    """

    def __init__(self, remaining: float) -> None:
        self._instant = time.monotonic() + remaining
        self._time = time.time() + remaining

    @property
    def remaining(self) -> float:
        """The seconds that are left, by the monotonic clock or the wall clock, whichever is further: a timeout for an HTTP client."""
        return max(0.0, min(self._instant - time.monotonic(), self._time - time.time()))

    @property
    def has_passed(self) -> bool:
        """True once nothing is left."""
        return self.remaining <= 0

    @property
    def time(self) -> datetime:
        """Its moment on the wall clock."""
        return datetime.fromtimestamp(self._time, UTC)

    def __repr__(self) -> str:
        return f"Deadline(remaining={self.remaining:.3f})"


class Config:
    """A resolved `ProviderConfig`: settings and credentials. Sent on every call; cache SDK clients by `(id, revision)`.

    Its repr shows no credential.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 (the contract's word)
        revision: str,
        settings: Json | None = None,
        credentials: Mapping[str, bytes] | None = None,
        credentials_expire_time: float | None = None,
    ) -> None:
        self.id = id
        self.revision = revision
        self._settings = settings or {}
        self._credentials = dict(credentials or {})
        self._expires = credentials_expire_time

    def settings(self, model: type[M]) -> M:
        """Returns the settings as the model given to `Plugin`. None at all read as `{}`. Raises `InvalidConfig` that names the field."""
        try:
            return document.read(model, self._settings)
        except Mismatch as mismatch:
            failure = InvalidConfig(f"the provider config's settings: {mismatch}")
        raise failure

    def credential(self, key: str) -> bytes | None:
        """Returns a credential, if it was given."""
        return self._credentials.get(key)

    def required_credential(self, key: str) -> str:
        """Returns a credential that must be there and is text. Raises `Unauthenticated`."""
        try:
            value = self._credentials.get(key, b"").decode()
        except UnicodeDecodeError:
            value = ""
        if not value:
            raise Unauthenticated(f'the provider config\'s credentials lack "{key}": add it to the Secret')
        return value

    @property
    def is_ambient(self) -> bool:
        """No credentials at all: use the identity that the plugin's own environment gives."""
        return not self._credentials

    @property
    def credentials_expire_time(self) -> datetime | None:
        """After this the credentials are stale. A call that comes later is answered `CREDENTIALS_EXPIRED` by the SDK."""
        return None if self._expires is None else datetime.fromtimestamp(self._expires, UTC)

    @property
    def has_expired(self) -> bool:
        """True once the credentials are stale."""
        return self._expires is not None and self._expires <= time.time()

    def secrets(self) -> list[bytes]:
        """Returns what may stand nowhere."""
        return list(self._credentials.values())

    def __repr__(self) -> str:
        return f"Config(id={self.id!r}, revision={self.revision!r}, credentials={sorted(self._credentials)!r})"


@dataclass(frozen=True, kw_only=True)
class Owner:
    """The Kubernetes object on whose behalf a call is sent. The namespace is empty for cluster-scoped kinds."""

    name: str
    uid: str
    namespace: str = ""
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a call is about. An empty text means that there is none."""

    external_name: str
    ownership_marker: str
    owner: Owner
    former_marker: str = ""
    provider_state: str = ""

    @property
    def markers(self) -> tuple[str, ...]:
        """The markers that the object's resources bear: of today, and the former one where a person has named one."""
        return tuple(marker for marker in (self.ownership_marker, self.former_marker) if marker)

    def owns(self, found_marker: str) -> bool:
        """Whether a marker found on a resource is the object's."""
        return bool(found_marker) and found_marker in self.markers


@dataclass(kw_only=True)
class ConfigCall:
    """The context of a call that is about no single resource."""

    config: Config
    deadline: Deadline
    id: str = ""
    """The bridge's id of this call, for logs."""
    traceparent: str = ""
    """The caller's trace (W3C), for the upstream's requests; empty: none."""
    _cancelled: bool = field(default=False, repr=False)

    def ensure_active(self) -> None:
        """Raises if the deadline has passed or the caller has cancelled: right before the request that counts, after every wait.

        An `async` method is interrupted at its `await` anyway; one without `async`, which runs in a thread, cannot be.
        """
        if self._cancelled:
            raise Timeout("the caller cancelled the call before the work was done", reason="Cancelled")
        if self.deadline.has_passed:
            raise Timeout("the call's deadline passed before the work was done", reason="DeadlineExceeded")

    @property
    def is_active(self) -> bool:
        """False once the deadline has passed or the caller has cancelled."""
        return not self._cancelled and not self.deadline.has_passed


@dataclass(kw_only=True)
class Call(ConfigCall):
    """The context of one call: about what, with which settings and credentials, until when."""

    target: Target
    resource_type: tuple[str, str, str] = ("", "", "")
    """Group, version and kind."""
    requires_marker: bool = field(default=False, repr=False)
    """What bears no marker is another owner's: in Delete and polls of a kind with recovery by marker."""
    _recorded_name: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """The name of the external resource; empty where none is known yet."""
        return self.target.external_name

    @property
    def recorded_name(self) -> str:
        """The name that `record_name` got; empty: none."""
        return self._recorded_name

    def record_name(self, external_name: str) -> None:
        """Records which name the upstream has given, the moment it is known. The first one counts.

        Whatever becomes of the call then, the bridge gets the name: with a success, a failure, an exception, a deadline. A creation that
        fails afterwards never reports that nothing was done, save with `NotFound`.
        """
        if not self._recorded_name:
            self._recorded_name = external_name

    def ensure_owned(self, found_marker: str) -> None:
        """Raises `NotFound` for a resource of another owner, by the contract's rules for this call.

        One without a marker is accepted: an Update adopts it. Delete and polls accept it too, save where a kind has recovery by marker.
        """
        if self.target.owns(found_marker) or (not found_marker and not self.requires_marker):
            return
        owner = "another owner's" if found_marker else "no owner's: it has no ownership marker"
        raise NotFound(f"{self.name or 'the resource'} is {owner}", reason="NotOwned")


@dataclass(frozen=True, kw_only=True)
class Desired(Generic[P]):
    """What the user asked for. Its repr shows no sensitive value."""

    parameters: P
    """Typed. An absent field means no opinion; sensitive fields are always absent."""
    json: Json = field(repr=False)
    """The parameters as the JSON that came."""
    sensitive_values: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The values of sensitive fields, by JSON Pointer."""
    sensitive_paths: tuple[str, ...] = field(default=(), repr=False)

    def sensitive(self, pointer: str) -> str | None:
        """Returns the value of a sensitive field, by its JSON Pointer: `/masterPassword`."""
        if not any(document.matches(path, pointer) for path in self.sensitive_paths):
            raise LookupError(f"{pointer} is no sensitive field of the kind")
        return self.sensitive_values.get(pointer)

    def over(self, current: M) -> M:
        """Returns what the desired state makes of the current one: its own fields, and the current ones where it has no opinion.

        Lists and maps are taken whole, nested models field by field.
        """
        return read_parameters(type(current), _merged(current, self.json))


def read_parameters(model: type[M], parameters: Json) -> M:
    """Reads parameters as the author's type. Raises `InvalidSpec` that names the fields."""
    try:
        return document.read(model, parameters)
    except Mismatch as mismatch:
        problems = mismatch.problems
    violations = {path: problem for path, problem in problems if path}
    message = "; ".join(f"{path or 'the parameters'}: {problem}" for path, problem in problems)
    raise InvalidSpec(message, reason="InvalidParameters", violations=violations)


def _merged(current: BaseModel, desired: Json) -> Json:
    merged = document.write(current)
    nested = {field_alias(name, declared): getattr(current, name) for name, declared in type(current).model_fields.items()}
    for name, value in desired.items():
        model = nested.get(name)
        if value is not None:
            merged[name] = _merged(model, value) if isinstance(model, BaseModel) and isinstance(value, dict) else value
    return merged


# A desired state that may be incomplete: what is only observed has no required fields, and a deletion must not stop at one that fits the
# type no longer. `parameters` is None then; `json` has what there is.
Known: TypeAlias = Desired[P | None]


def _ensure_etag(sent: str, current: object) -> None:
    if sent and sent != str(current):
        raise Conflict("the resource was changed since it was observed", reason="EtagChanged")


@dataclass(frozen=True, kw_only=True)
class Create(Generic[P]):
    """A request to create one resource."""

    desired: Desired[P]
    client_request_token: str
    """A UUID, the same for each repeat of this creation. Hand it to the upstream where it takes one."""
    outcome_unknown: bool = False
    """The bridge does not know how an earlier call with this token ended: search by token, name or marker first."""

    def digest(self, call: Call) -> str:
        """Returns a digest of all that makes two requests the same, for upstreams that keep no more than the token.

        Sensitive values are no part of it: the bridge repeats a creation with those of today.
        """
        parts: list[Any] = [call.resource_type, call.config.id, call.target.external_name, call.target.ownership_marker, self.desired.json]
        return hashlib.sha256(document.value_text(parts).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Update(Generic[P]):
    """A request to change one resource in place."""

    desired: Desired[P]
    changed_paths: tuple[str, ...] = ()
    """JSON Pointers that the bridge found to differ: a hint. Empty where the plugin compares."""
    etag: str = ""

    def ensure_etag(self, current: object) -> None:
        """Raises `Conflict` if the etag of the last observation no longer holds."""
        _ensure_etag(self.etag, current)


@dataclass(frozen=True, kw_only=True)
class Delete(Generic[P]):
    """A request to delete one resource."""

    desired: Known[P]
    etag: str = ""

    def ensure_etag(self, current: object) -> None:
        """Raises `Conflict` if the etag of the last observation no longer holds."""
        _ensure_etag(self.etag, current)


@dataclass(frozen=True, kw_only=True)
class Poll(Generic[P]):
    """A request to poll an operation."""

    handle: str
    """As this plugin returned it, perhaps in an earlier version."""
    desired: Known[P]
    """Today's desired state, which may be newer than the operation."""


@dataclass(frozen=True, kw_only=True)
class List:
    """A request for one page of the external resources that exist."""

    filter: Json = field(default_factory=dict)
    page_size: int = 0
    """At most this many; 0: the plugin's choice."""
    page_token: str = ""
    """The token from the page before; empty: the first page."""
    include_parameters: bool = False
    """Fill in the parameters of each item."""
