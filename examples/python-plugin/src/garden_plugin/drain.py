"""The end: calls that run may end, streams of health and reflection are cut."""

import threading

import grpc

# Calls have deadlines of at most a minute.
LONGEST_CALL = 60
# A call may slip in before its client knows that the plugin stops.
CLOSE_GRACE = 2
TICK = 0.05


class Running(grpc.ServerInterceptor):
    """Counts the calls that run. Streams are none: they last as long as their clients want."""

    def __init__(self):
        self._lock = threading.Lock()
        self._count = 0

    @property
    def any(self) -> bool:
        return self._count > 0

    def intercept_service(self, continuation, details):
        handler = continuation(details)
        if handler is None or handler.unary_unary is None:
            return handler

        def counted(request, context):
            self._add(1)
            try:
                return handler.unary_unary(request, context)
            finally:
                self._add(-1)

        return grpc.unary_unary_rpc_method_handler(counted, handler.request_deserializer, handler.response_serializer)

    def _add(self, number: int) -> None:
        with self._lock:
            self._count += number


def drain(server: grpc.Server, running: Running) -> None:
    """Begins no further call, and waits for those that run."""
    ended = server.stop(LONGEST_CALL)
    quiet = 0.0
    while quiet < CLOSE_GRACE:
        if ended.wait(TICK):
            return
        quiet = 0.0 if running.any else quiet + TICK
    server.stop(None).wait()
