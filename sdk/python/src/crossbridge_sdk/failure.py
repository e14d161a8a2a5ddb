"""Failures: why a call did not work, and what it left behind. Exceptions, so that an author raises them."""

from __future__ import annotations

import enum
import socket
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, ClassVar

import grpc


class FailureCode(enum.Enum):
    """A closed set; each has one reaction of the bridge, which the contract documents."""

    INVALID_SPEC = 1
    IMMUTABLE_FIELD = 2
    UNSUPPORTED = 3
    ALREADY_EXISTS = 4
    NOT_FOUND = 5
    CONFLICT = 6
    DEPENDENCY_NOT_READY = 7
    INVALID_CONFIG = 8
    UNAUTHENTICATED = 9
    CREDENTIALS_EXPIRED = 10
    PERMISSION_DENIED = 11
    THROTTLED = 12
    QUOTA_EXCEEDED = 13
    UNAVAILABLE = 14
    TIMEOUT = 15
    OPERATION_FAILED = 16
    OPERATION_EXPIRED = 17
    TOKEN_REUSED = 18
    INTERNAL = 19


class Effect(enum.Enum):
    """What a failed call left behind."""

    NONE = 1
    PARTIAL = 2
    UNKNOWN = 3


class Rejected(Exception):
    """The call is not processed, and nothing was done: a gRPC status in place of an answer."""

    def __init__(self, status: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class InvalidArgument(Rejected):
    """What the bridge handed back is not what this plugin gave out: a malformed or foreign `handle`, `target.provider_state` or `page_token`."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(grpc.StatusCode.INVALID_ARGUMENT, f"{field}: {problem}")


class Failure(Exception):
    """Raised where the external system, or the plugin on its behalf, says no. Raise one of the classes below, by their codes.

    The message is for users, and holds no secrets. `reason` becomes a condition's reason: PascalCase, stable, at most 63 bytes; unset, it is
    the name of the class, so that `class NoSuchBed(NotFound)` needs no more. `effect` says what the call left behind, where the usual effect of the
    code is not true. `path` is a parameter at fault, by JSON Pointer, empty for the external name; `violations` name more than one. In a
    creation, once the upstream has given a name (`Call.record_name`), `Effect.NONE` is sent as `Effect.PARTIAL`, save with `NotFound`.
    """

    code: ClassVar[FailureCode] = FailureCode.INTERNAL
    usual_effect: ClassVar[Effect] = Effect.UNKNOWN

    def __init__(
        self,
        message: str,
        *,
        reason: str | None = None,
        effect: Effect | None = None,
        path: str | None = None,
        violations: Mapping[str, str] | None = None,
        retry_after: timedelta | float | None = None,
        upstream_code: str = "",
        upstream_request_id: str = "",
        existing_external_name: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason or type(self).__name__
        self.effect = effect or self.usual_effect
        self.violations = dict(violations or {})
        if path is not None:
            self.violations.setdefault(path, message)
        self.retry_after = timedelta(seconds=retry_after) if isinstance(retry_after, (int, float)) else retry_after
        self.upstream_code = upstream_code
        self.upstream_request_id = upstream_request_id
        self.existing_external_name = existing_external_name

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class InvalidSpec(Failure):
    """The object waits for a spec change. Nothing was done."""

    code, usual_effect = FailureCode.INVALID_SPEC, Effect.NONE


class ImmutableField(Failure):
    """The desired state changes what cannot change in place. Nothing was done."""

    code, usual_effect = FailureCode.IMMUTABLE_FIELD, Effect.NONE


class Unsupported(Failure):
    """What is asked for cannot be done here at all. Nothing was done."""

    code, usual_effect = FailureCode.UNSUPPORTED, Effect.NONE


class AlreadyExists(Failure):
    """A resource of this name exists, and not by this request: pass its `existing_external_name`. Nothing was done."""

    code, usual_effect = FailureCode.ALREADY_EXISTS, Effect.NONE


class NotFound(Failure):
    """The resource to update or delete is absent, or has another owner. Nothing was done."""

    code, usual_effect = FailureCode.NOT_FOUND, Effect.NONE


class Conflict(Failure):
    """Busy, locked, or another etag: observed again, then retried. Nothing was done."""

    code, usual_effect = FailureCode.CONFLICT, Effect.NONE


class DependencyNotReady(Failure):
    """Something else must come first: retried, and reported as waiting. Nothing was done."""

    code, usual_effect = FailureCode.DEPENDENCY_NOT_READY, Effect.NONE


class InvalidConfig(Failure):
    """The settings are wrong: every object of the config waits. Nothing was done."""

    code, usual_effect = FailureCode.INVALID_CONFIG, Effect.NONE


class Unauthenticated(Failure):
    """The credentials are rejected: every object of the config waits. Nothing was done."""

    code, usual_effect = FailureCode.UNAUTHENTICATED, Effect.NONE


class CredentialsExpired(Failure):
    """The credentials are stale: the bridge reads them afresh. Nothing was done."""

    code, usual_effect = FailureCode.CREDENTIALS_EXPIRED, Effect.NONE


class PermissionDenied(Failure):
    """These credentials may not do this. Nothing was done."""

    code, usual_effect = FailureCode.PERMISSION_DENIED, Effect.NONE


class Throttled(Failure):
    """An upstream rate limit: every object of this config and rate-limit group waits. Nothing was done."""

    code, usual_effect = FailureCode.THROTTLED, Effect.NONE

    def __init__(
        self,
        message: str,
        *,
        retry_after: timedelta | float,
        reason: str | None = None,
        effect: Effect | None = None,
        upstream_code: str = "",
        upstream_request_id: str = "",
    ) -> None:
        super().__init__(
            message,
            retry_after=retry_after,
            reason=reason,
            effect=effect,
            upstream_code=upstream_code,
            upstream_request_id=upstream_request_id,
        )


class QuotaExceeded(Failure):
    """A person must raise a limit. Nothing was done."""

    code, usual_effect = FailureCode.QUOTA_EXCEEDED, Effect.NONE


class Unavailable(Failure):
    """Upstream 5xx or network failure. What it left behind is unknown."""

    code, usual_effect = FailureCode.UNAVAILABLE, Effect.UNKNOWN


class Timeout(Failure):
    """No answer in time. What it left behind is unknown."""

    code, usual_effect = FailureCode.TIMEOUT, Effect.UNKNOWN


class OperationFailed(Failure):
    """The operation ended badly, or was stopped upstream. What it left behind is unknown."""

    code, usual_effect = FailureCode.OPERATION_FAILED, Effect.UNKNOWN


class OperationExpired(Failure):
    """The handle is of no more use. The poll changed nothing."""

    code, usual_effect = FailureCode.OPERATION_EXPIRED, Effect.NONE


class TokenReused(Failure):
    """Another request came earlier under this token. Nothing was done."""

    code, usual_effect = FailureCode.TOKEN_REUSED, Effect.NONE


class Internal(Failure):
    """A bug in the plugin. What it left behind is unknown."""

    code, usual_effect = FailureCode.INTERNAL, Effect.UNKNOWN


# Places that a log names of an exception.
PLACES = 5

# What an exception means that is no Failure, the first that fits; a plugin's own table (`Plugin(failures=…)`) goes before. Anything else is
# INTERNAL. None of them quotes the exception's text, which may hold anything, secrets too.
EXCEPTIONS: Sequence[tuple[type[Exception], type[Failure], str]] = (
    (TimeoutError, Timeout, "the upstream did not answer in time"),
    (ConnectionError, Unavailable, "the connection to the upstream failed"),
    (socket.gaierror, Unavailable, "the upstream's name could not be resolved"),
)


Mapped = Mapping[type[Exception], Callable[[Any], Failure]]


def of_exception(error: BaseException, mapped: Mapped) -> Failure:
    """Returns the failure that an exception of the author's code stands for; `mapped` is the plugin's own table."""
    if isinstance(error, Failure):
        return error
    for own, to_failure in mapped.items():
        if isinstance(error, own):
            return to_failure(error)
    for exception, failure, message in EXCEPTIONS:
        if isinstance(error, exception):
            return failure(f"{message} ({type(error).__name__})")
    return Internal(f"internal error in the plugin; see its log ({type(error).__name__})")


def unwrapped(error: BaseException) -> BaseException:
    """Returns the one exception of a group, such as a TaskGroup raises."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def place(error: BaseException) -> str:
    """Returns what an exception was and where it was raised, the innermost first, without its text."""
    places = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        places.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{type(error).__name__} at {' < '.join(places[: -PLACES - 1 : -1]) or 'an unknown place'}"
