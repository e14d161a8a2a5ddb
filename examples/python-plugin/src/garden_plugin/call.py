"""One call: what it is about, until when it may work, and how it can fail."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
from crossbridge.provider.v1alpha1 import failure_pb2, options_pb2, target_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

LONGEST_CHANGE = 60.0
MARKER = re.compile(r"[a-z][a-z0-9-]{0,62}")


class Rejected(Exception):
    """The caller's mistake: nothing was done."""

    def __init__(self, message: str, status: grpc.StatusCode = grpc.StatusCode.INVALID_ARGUMENT):
        super().__init__(message)
        self.status = status


class Failed(Exception):
    """What the garden rejects. Nothing was done, unless another effect is reported."""

    def __init__(self, code: str, reason: str, message: str, *, effect: str = "NONE", path: str | None = None, name: str = "", existing: str = ""):
        super().__init__(message)
        violations = [] if path is None else [failure_pb2.FieldViolation(path=path, message=message)]
        self.name = name
        self.failure = failure_pb2.Failure(
            code=f"FAILURE_CODE_{code}",
            effect=f"EFFECT_{effect}",
            reason=reason,
            message=message,
            violations=violations,
            existing_external_name=existing,
        )


@dataclass(frozen=True)
class Call:
    """A checked request."""

    # It holds the credentials.
    target: target_pb2.Target = field(repr=False)
    desired: dict[str, Any]
    deadline: float
    # False: the caller has deleted away.
    is_wanted: Callable[[], bool] = field(repr=False)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return self.target.external_name

    def left(self) -> float:
        """Seconds that it may still work."""
        return self.deadline - time.time()

    def ensure_time(self) -> None:
        """Nothing is begun after the deadline, nor for a caller who has cancelled."""
        if self.left() <= 0 or not self.is_wanted():
            raise Rejected("the deadline passed, or the call was cancelled: nothing was done", grpc.StatusCode.FAILED_PRECONDITION)

    @property
    def markers(self) -> tuple[str, str]:
        """What this object's resources bear: the marker of today, or the former one."""
        return self.target.ownership_marker, self.target.former_marker or self.target.ownership_marker

    def owns(self, marker: str) -> bool:
        """Does this object own what bears the marker?"""
        return marker in self.markers


def deadline(context: grpc.ServicerContext, changes: bool) -> float:
    """As Unix time. gRPC's own is relative to the arrival; the metadata may carry the absolute one."""
    left = context.time_remaining()
    if changes and (left is None or left > LONGEST_CHANGE):
        raise Rejected("a call that changes something needs a deadline of at most 60 s", grpc.StatusCode.FAILED_PRECONDITION)
    end = time.time() + min(LONGEST_CHANGE if left is None else left, LONGEST_CHANGE)
    absolute = dict(context.invocation_metadata()).get("crossbridge-deadline-ms")
    if absolute is not None:
        if not absolute.isdecimal():
            raise Rejected("the metadata crossbridge-deadline-ms is malformed")
        end = min(end, int(absolute) / 1000)
    if end <= time.time():
        raise Rejected("the deadline has passed: nothing was done", grpc.StatusCode.FAILED_PRECONDITION)
    return end


def check(request: Message, path: str = "") -> None:
    """Every field that the contract marks as required is there."""
    for one in request.DESCRIPTOR.fields:
        value, at = getattr(request, one.name), path + one.name
        is_message = one.type == FieldDescriptor.TYPE_MESSAGE
        is_set = request.HasField(one.name) if is_message and not one.is_repeated else bool(value)
        if one.GetOptions().Extensions[options_pb2.is_required] and not is_set:
            raise Rejected(f"{at} is required, and is not set")
        if is_message and not one.is_repeated and is_set:
            check(value, f"{at}.")
    if isinstance(request, target_pb2.Target):
        for name in ("ownership_marker", "former_marker"):
            marker = getattr(request, name)
            if marker and not MARKER.fullmatch(marker):
                raise Rejected(f"{path}{name} is malformed: at most 63 of a-z, 0-9 and '-', beginning with a letter")
        if request.provider_state:
            raise Rejected(f"{path}provider_state is foreign: this plugin gives out none")


def read(document: target_pb2.Document, at: str) -> dict[str, Any]:
    """The object in a document."""
    try:
        value = json.loads(document.json)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Rejected(f"{at}.json is malformed: not the JSON text of an object")
    return value


def document(value: dict[str, Any]) -> target_pb2.Document:
    return target_pb2.Document(json=json.dumps(value, separators=(",", ":"), sort_keys=True))
