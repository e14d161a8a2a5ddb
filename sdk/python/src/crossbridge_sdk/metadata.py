"""What a call's metadata holds: its deadline, its id, its trace."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass

import grpc

from .call import Deadline
from .failure import Rejected

# Longest call that changes something, in seconds; longer ones are operations.
CALL_LIMIT = 60.0
# Kept back of each deadline at most, for the answer's way.
ANSWER_RESERVE = 0.2
DEADLINE = "crossbridge-deadline-ms"

_TRACE_PARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-.+", re.IGNORECASE)
_WHOLE_NUMBER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Metadata:
    """What the metadata of a call holds. `timeout` is gRPC's own deadline in seconds, `absolute` the contract's as Unix time; None: not sent."""

    timeout: float | None = None
    absolute: float | None = None
    call_id: str = ""
    traceparent: str = ""

    @classmethod
    def read(cls, entries: Iterable[tuple[str, str | bytes]], timeout: float | None) -> Metadata:
        """Reads them. A deadline that cannot be read is `INVALID_ARGUMENT`; other malformed metadata is passed over."""
        texts = {key: value for key, value in entries if isinstance(value, str)}
        absolute = texts.get(DEADLINE)
        if absolute is not None and not _WHOLE_NUMBER.fullmatch(absolute):
            raise Rejected(grpc.StatusCode.INVALID_ARGUMENT, f"the metadata {DEADLINE} is malformed")
        traceparent = texts.get("traceparent", "")
        return cls(
            timeout=timeout,
            absolute=None if absolute is None else int(absolute) / 1000,
            call_id=texts.get("crossbridge-call-id", ""),
            traceparent=traceparent if trace_parent(traceparent) is not None else "",
        )

    def deadline_of_change(self) -> Deadline:
        """Returns until when a call that changes something may work."""
        if self.timeout is None:
            raise _unmet("a call that changes something needs a deadline of at most 60 s")
        if self.timeout > CALL_LIMIT:
            raise _unmet("the deadline is more than 60 s ahead: what takes longer is an operation")
        return self._bounded(self.timeout)

    def deadline_of_read(self) -> Deadline:
        """Returns until when any other call may work: 60 s where it has no deadline, or a later one."""
        return self._bounded(CALL_LIMIT if self.timeout is None else min(self.timeout, CALL_LIMIT))

    def _bounded(self, timeout: float) -> Deadline:
        left = timeout if self.absolute is None else min(timeout, self.absolute - time.time())
        if left <= 0:
            raise _unmet("the call's deadline has passed: nothing was done")
        return Deadline(left - min(ANSWER_RESERVE, left / 20))


def _unmet(problem: str) -> Rejected:
    return Rejected(grpc.StatusCode.FAILED_PRECONDITION, problem)


def trace_parent(text: str) -> tuple[str, str] | None:
    """Reads trace id and parent span id as W3C writes them; None: malformed."""
    known = _TRACE_PARENT.fullmatch(text)
    if known is None or known[1].lower() == "ff" or not known[2].strip("0") or not known[3].strip("0"):
        return None
    return known[2], known[3]
