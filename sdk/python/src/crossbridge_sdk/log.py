"""The call that code runs in, for logs: its id, trace, kind, owner and name. Nothing secret is in it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from contextvars import ContextVar

from .metadata import Metadata, trace_parent

_current: ContextVar[dict[str, str] | None] = ContextVar("crossbridge_call", default=None)


@contextlib.contextmanager
def of_call(rpc: str, metadata: Metadata) -> Iterator[dict[str, str]]:
    """Says of what is logged within that it is of this call. More can be put in."""
    fields = {"rpc": rpc}
    if metadata.call_id:
        fields["call_id"] = metadata.call_id
    trace = trace_parent(metadata.traceparent)
    if trace is not None:
        fields["trace_id"], fields["parent_span_id"] = trace
    token = _current.set(fields)
    try:
        yield fields
    finally:
        _current.reset(token)


def fields() -> dict[str, str]:
    """Returns what is known of the call that this code runs in; empty: none."""
    return dict(_current.get() or {})


class CallFilter(logging.Filter):
    """Gives each record the attribute `call`: a text such as `rpc=Create call_id=… trace_id=… kind=Bed name=herbs`, or an empty one."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Adds the attribute; keeps every record."""
        record.call = " ".join(f"{name}={value!r}" if " " in value else f"{name}={value}" for name, value in fields().items())
        return True
