"""What may stand in no text: the credentials and sensitive values of a call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.protobuf.message import Message

from ._proto import (
    discovery_service_pb2,
    failure_pb2,
    observation_pb2,
    operation_pb2,
    outcome_pb2,
    plugin_service_pb2,
    resource_service_pb2,
)

# Shorter ones occur by chance. In bytes.
SHORTEST = 6
REDACTED = "[redacted]"


class Secrets:
    """The secrets of one call. Its repr shows none."""

    def __init__(self, values: Iterable[bytes | str] = ()) -> None:
        found = {value.encode() if isinstance(value, str) else value for value in values}
        whole = {value.decode(errors="ignore") for value in found if len(value) >= SHORTEST}
        # A key that was read from a file may end in a line feed, which its users strip.
        texts = whole | {text.strip() for text in whole}
        # The longest first: one may be a part of another.
        self._texts = sorted((text for text in texts if len(text.encode()) >= SHORTEST), key=len, reverse=True)

    def __repr__(self) -> str:
        return f"Secrets({len(self._texts)})"

    def stand_in(self, text: str) -> bool:
        """Whether a text holds one."""
        return any(secret in text for secret in self._texts)

    def redacted(self, text: str) -> str:
        """Returns a text without them."""
        for secret in self._texts:
            text = text.replace(secret, REDACTED)
        return text

    def redact(self, message: Message) -> None:
        """Removes them from every text for people of an answer."""
        if not self._texts:
            return
        match message:
            case failure_pb2.Failure():
                message.message = self.redacted(message.message)
                for violation in message.violations:
                    violation.message = self.redacted(violation.message)
            case operation_pb2.Operation():
                message.message = self.redacted(message.message)
            case observation_pb2.Warning():
                message.message = self.redacted(message.message)
            case observation_pb2.Observation():
                message.ready_message = self.redacted(message.ready_message)
                self._each(message, "operation")
                self._all(message.warnings)
            case outcome_pb2.Outcome():
                self._each(message, "operation", "failure")
                self._all(message.warnings)
                if message.completed.HasField("observation"):
                    self.redact(message.completed.observation)
            case resource_service_pb2.ObserveResponse():
                self._each(message, "observation", "failure")
            case plugin_service_pb2.CheckConfigResponse() | discovery_service_pb2.ListExternalResponse():
                self._each(message, "failure")

    def _each(self, message: Message, *fields: str) -> None:
        for field in fields:
            if message.HasField(field):
                self.redact(getattr(message, field))

    def _all(self, messages: Iterable[Any]) -> None:
        for message in messages:
            self.redact(message)
