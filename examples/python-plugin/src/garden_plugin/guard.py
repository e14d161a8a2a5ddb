"""What stands around every call: it is answered in form, whatever comes, and the log reports how it ended."""

import logging
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

import grpc

from .call import Failed, Rejected

Answer = TypeVar("Answer")
BUG = "The plugin has a bug; its log has the details."


def guarded(
    said: str,
    context: grpc.ServicerContext,
    work: Callable[[], Answer],
    failure: Callable[[Failed], Answer] | None = None,
    *,
    level: int = logging.INFO,
) -> Answer:
    """The answer of `work`, or the one that `failure` puts a failure into. `said`: which call, for the log, where success has this level."""
    try:
        answer = work()
        logging.log(level, "%s: done", said)
        return answer
    except Rejected as rejected:
        logging.info("%s: rejected: %s", said, rejected)
        context.abort(rejected.status, str(rejected))
    except Exception as error:
        if isinstance(error, Failed):
            failed = error
            logging.info("%s: %s", said, failed.failure.reason)
        else:
            # Its text may hold anything, secrets too; what gRPC is not reported of, it does not quote.
            failed = Failed("INTERNAL", "PluginBug", BUG, effect="UNKNOWN")
            logging.error("%s: a bug: %s at %s", said, type(error).__name__, place(error.__traceback__))
        if failure is not None:
            return failure(failed)
        context.abort(grpc.StatusCode.INTERNAL, str(failed))


def place(trace: TracebackType | None) -> str:
    """Where it was raised."""
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "?"


def call_id(context: grpc.ServicerContext) -> str:
    return dict(context.invocation_metadata()).get("crossbridge-call-id", "-")
