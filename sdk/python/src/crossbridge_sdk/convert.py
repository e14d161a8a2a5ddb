"""From what an author returns to the messages of the contract. Raises a `Violation` for a value of another type."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from . import document
from ._proto import discovery_service_pb2, failure_pb2, observation_pb2, operation_pb2, outcome_pb2, resource_service_pb2, target_pb2
from .answer import Absent, Listed, Observation, Operation, OperationVerb, Outcome, WarningEvent
from .document import Json
from .failure import Failure
from .kind import FOR_EVER
from .published import PublishedKind
from .violation import Violation, quoted


def _wrong_type(field: str, value: object, expected: str) -> Violation:
    return Violation(field, f"is of the type {type(value).__name__}; it must be {expected}")


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise _wrong_type(field, value, "a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Violation(field, "holds half of a surrogate pair") from None
    return value


def _duration(value: timedelta | float | None, field: str) -> Duration | None:
    if value is None:
        return None
    if not isinstance(value, (timedelta, int, float)):
        raise _wrong_type(field, value, "a timedelta, or seconds")
    try:
        span = value if isinstance(value, timedelta) else timedelta(seconds=value)
    except (OverflowError, ValueError):
        raise Violation(field, "is out of range: 0s or more is allowed") from None
    if span < timedelta():
        raise Violation(field, "is out of range: 0s or more is allowed")
    duration = Duration()
    duration.FromTimedelta(min(span, FOR_EVER))
    return duration


def _time(value: datetime | None, field: str) -> Timestamp | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise _wrong_type(field, value, "a datetime")
    timestamp = Timestamp()
    timestamp.FromDatetime(value)
    return timestamp


def _details(connection: Mapping[str, bytes | str], field: str) -> dict[str, bytes]:
    if not isinstance(connection, Mapping):
        raise _wrong_type(field, connection, "a mapping")
    details = {}
    for key, value in connection.items():
        if not isinstance(value, (bytes, str)):
            raise _wrong_type(f"{field}[{quoted(str(key))}]", value, "bytes or a text")
        details[_text(key, field)] = value.encode() if isinstance(value, str) else value
    return details


def _warnings(warnings: Sequence[WarningEvent]) -> list[observation_pb2.Warning]:
    for index, warning in enumerate(warnings):
        if not isinstance(warning, WarningEvent):
            raise _wrong_type(f"warnings[{index}]", warning, "a WarningEvent")
    return [
        observation_pb2.Warning(
            reason=_text(warning.reason, f"warnings[{index}].reason"), message=_text(warning.message, f"warnings[{index}].message")
        )
        for index, warning in enumerate(warnings)
    ]


def failure(said: Failure) -> failure_pb2.Failure:
    """Returns the failure for the body of an answer."""
    return failure_pb2.Failure(
        code=f"FAILURE_CODE_{said.code.name}",
        effect=f"EFFECT_{said.effect.name}",
        reason=_text(said.reason, "failure.reason"),
        message=_text(said.message, "failure.message"),
        retry_after=_duration(said.retry_after, "failure.retry_after"),
        violations=[
            failure_pb2.FieldViolation(path=_text(path, "failure.violations"), message=_text(problem, "failure.violations"))
            for path, problem in said.violations.items()
        ],
        upstream_code=_text(said.upstream_code, "failure.upstream_code"),
        upstream_request_id=_text(said.upstream_request_id, "failure.upstream_request_id"),
        existing_external_name=_text(said.existing_external_name, "failure.existing_external_name"),
    )


def operation(said: Operation) -> operation_pb2.Operation:
    """Returns an operation."""
    if not isinstance(said.verb, OperationVerb):
        raise _wrong_type("operation.verb", said.verb, "an OperationVerb")
    progress = said.progress
    if progress is not None and (isinstance(progress, bool) or not 0 <= progress <= 100):
        raise Violation("operation.progress_percent", "is out of range: 0 to 100 is allowed")
    return operation_pb2.Operation(
        handle=_text(said.handle, "operation.handle"),
        verb=f"OPERATION_VERB_{said.verb.name}",
        expire_time=_time(said.expires, "operation.expire_time"),
        poll_after=_duration(said.poll_after, "operation.poll_after"),
        progress_percent=progress,
        phase=_text(said.phase, "operation.phase"),
        message=_text(said.message, "operation.message"),
        poll_driven=said.poll_driven,
        upstream_operation_id=_text(said.upstream_id, "operation.upstream_operation_id"),
    )


class Converter:
    """Converts the answers about one kind."""

    def __init__(self, kind: PublishedKind) -> None:
        self.kind = kind

    def _document(self, model: BaseModel, expected: type[BaseModel], field: str) -> Json:
        if not isinstance(model, expected):
            raise _wrong_type(field, model, f"the kind's {expected.__qualname__}")
        try:
            return document.write(model)
        except (PydanticSerializationError, TypeError):
            raise Violation(field, f"does not fit {expected.__qualname__}") from None

    def parameters(self, model: BaseModel, field: str) -> Json:
        """Returns observed parameters, without what is sensitive."""
        written = self._document(model, self.kind.parameters, field)
        for path in self.kind.sensitive_paths:
            document.remove(written, path)
        return written

    def observation(self, said: Observation, desired: Json | None) -> observation_pb2.Observation:
        """Returns an observation; the values of what differs are looked up in it and in what is desired."""
        parameters = self.parameters(said.parameters, "parameters")
        status = None if said.status is None else self._document(said.status, self.kind.status, "status")
        known = copy.deepcopy(desired or {})
        for path in self.kind.sensitive_paths:
            document.remove(known, path)
        up_to_date = False if said.differs else said.up_to_date
        verdict = "UNSPECIFIED" if up_to_date is None else str(bool(up_to_date)).upper()
        return observation_pb2.Observation(
            external_name=_text(said.external_name, "external_name"),
            canonical_id=_text(said.canonical_id, "canonical_id"),
            provider_state=_text(said.provider_state, "provider_state"),
            parameters=target_pb2.Document(json=document.text(parameters)),
            status=None if status is None else target_pb2.Document(json=document.text(status)),
            ready=bool(said.ready),
            ready_message=_text(said.ready_message, "ready_message"),
            up_to_date=f"TRISTATE_{verdict}",
            diffs=[
                observation_pb2.FieldDiff(
                    path=_text(path, "diffs"),
                    desired_json=_json(known, path),
                    observed_json=_json(parameters, path),
                    needs_replacement=replace,
                )
                for path, replace in said.differs.items()
            ],
            connection_details=_details(said.connection, "connection_details"),
            etag=_text(said.etag, "etag"),
            deleting=bool(said.deleting),
            operation=None if said.operation is None else operation(said.operation),
            found_marker=_text(said.found_marker, "found_marker"),
            observe_after=_duration(said.observe_after, "observe_after"),
            warnings=_warnings(said.warnings),
        )

    def observed(self, said: Observation | Absent, desired: Json) -> resource_service_pb2.ObserveResponse:
        """Returns the answer to an Observe."""
        if isinstance(said, Absent):
            name = _text(said.external_name, "absent.external_name")
            return resource_service_pb2.ObserveResponse(absent=observation_pb2.Absent(external_name=name))
        try:
            return resource_service_pb2.ObserveResponse(observation=self.observation(said, desired))
        except Violation as broken:
            raise broken.within("observation") from None

    def outcome(self, said: Outcome, desired: Json | None) -> outcome_pb2.Outcome:
        """Returns an outcome. Name, id, state, details and warnings of an observation become its own, where it has none."""
        outcome = outcome_pb2.Outcome(
            external_name=_text(said.external_name, "external_name"),
            canonical_id=_text(said.canonical_id, "canonical_id"),
            connection_details=_details(said.connection, "connection_details"),
            provider_state=_text(said.provider_state, "provider_state"),
        )
        outcome.warnings.extend(_warnings(said.warnings))
        match said.result:
            case None:
                outcome.completed.already_done = said.already_done
                outcome.completed.SetInParent()
            case Operation():
                outcome.operation.CopyFrom(operation(said.result))
            case Failure():
                outcome.failure.CopyFrom(failure(said.result))
            case Observation():
                try:
                    observation = self.observation(said.result, desired)
                except Violation as broken:
                    raise broken.within("completed.observation") from None
                outcome.completed.already_done = said.already_done
                _hoist(observation, outcome)
                outcome.completed.observation.CopyFrom(observation)
            case other:
                raise _wrong_type("result", other, "an Observation, an Operation or a Failure")
        return outcome

    def listed(self, said: Listed) -> discovery_service_pb2.ListExternalResponse:
        """Returns a page of what exists."""
        items = []
        for index, item in enumerate(said.items):
            at = f"items[{index}]"
            parameters = None if item.parameters is None else self.parameters(item.parameters, f"{at}.parameters")
            items.append(
                discovery_service_pb2.ExternalResource(
                    external_name=_text(item.external_name, f"{at}.external_name"),
                    canonical_id=_text(item.canonical_id, f"{at}.canonical_id"),
                    display_name=_text(item.display_name, f"{at}.display_name"),
                    parameters=None if parameters is None else target_pb2.Document(json=document.text(parameters)),
                    found_marker=_text(item.found_marker, f"{at}.found_marker"),
                )
            )
        token = _text(said.next_page_token, "next_page_token")
        return discovery_service_pb2.ListExternalResponse(items=items, next_page_token=token, unreachable=said.unreachable)


def named(said: Outcome) -> outcome_pb2.Outcome:
    """Returns what of an outcome that cannot leave may be given only once, as far as it is of its type: name, id and connection details."""
    outcome = outcome_pb2.Outcome()
    parts: list[Any] = [said, said.result] if isinstance(said.result, Observation) else [said]
    for part in parts:
        for field in ("external_name", "canonical_id"):
            if not getattr(outcome, field):
                with contextlib.suppress(Violation):
                    setattr(outcome, field, _text(getattr(part, field), field))
        connection = part.connection if isinstance(part.connection, Mapping) else {}
        for key, value in connection.items():
            with contextlib.suppress(Violation):
                for text, detail in _details({key: value}, "connection_details").items():
                    if text not in outcome.connection_details:
                        outcome.connection_details[text] = detail
    return outcome


def _json(parameters: Json, path: str) -> str:
    value = document.at(parameters, path) if path.startswith("/") else None
    return "" if value is None else document.value_text(value)


def _hoist(observation: observation_pb2.Observation, outcome: outcome_pb2.Outcome) -> None:
    for field in ("external_name", "canonical_id", "provider_state"):
        if not getattr(outcome, field):
            setattr(outcome, field, getattr(observation, field))
    for key, value in observation.connection_details.items():
        if key not in outcome.connection_details:
            outcome.connection_details[key] = value
    outcome.warnings.extend(cast("Any", observation.warnings))
    for field in ("external_name", "canonical_id", "provider_state", "connection_details", "warnings"):
        observation.ClearField(field)
