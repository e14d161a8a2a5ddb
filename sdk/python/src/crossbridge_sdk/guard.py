"""Author's code under guard: a permit, a deadline, and exceptions kept to the call."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import grpc

from .call import ConfigCall
from .failure import Rejected, Timeout

logger = logging.getLogger("crossbridge_sdk")


class Running(Protocol):
    """Author's code that runs. `future` is done when it has ended, never before."""

    future: asyncio.Future[Any]

    def stop(self) -> None:
        """Stops it, where that can be done."""


class Contained(Exception):
    """An exception of the author's code, kept to its call."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error = error


class _Task:
    """An `async` method, which is cancelled at its `await`."""

    def __init__(self, method: Callable[..., Any], call: ConfigCall, request: Any) -> None:
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_task(_contained(method, call, request))

    def stop(self) -> None:
        self.future.cancel()


async def _contained(method: Callable[..., Any], call: ConfigCall, request: Any) -> Any:
    try:
        return await method(call, request)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 (an exit of one call must not be one of the process)
        return Contained(error)


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result


class _Thread:
    """A plain method, in a thread of its own that does not hold up the end of the process."""

    def __init__(self, method: Callable[..., Any], call: ConfigCall, request: Any) -> None:
        loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = loop.create_future()
        self._inner: concurrent.futures.Future[Any] | None = None
        self._stopped = False
        context = contextvars.copy_context()

        def work() -> None:
            try:
                result = context.run(method, call, request)
                if inspect.isawaitable(result):
                    # A plain method may hand its work on to an `async` one.
                    self._inner = inner = asyncio.run_coroutine_threadsafe(_awaited(result), loop)
                    # It was stopped before there was anything to stop.
                    if self._stopped:
                        inner.cancel()
                    result = inner.result()
            except BaseException as error:  # noqa: BLE001 (likewise)
                result = Contained(error)
            try:
                loop.call_soon_threadsafe(self.future.set_result, result)
            except RuntimeError:
                logger.warning("a call ended after the plugin")

        threading.Thread(target=work, name="crossbridge-call", daemon=True).start()

    def stop(self) -> None:
        """Stops what it has handed on; itself, it asks `call.ensure_active()`."""
        self._stopped = True
        if self._inner is not None:
            self._inner.cancel()


def run(method: Callable[..., Any], call: ConfigCall, request: Any) -> Running:
    """Begins author's code."""
    return (_Task if inspect.iscoroutinefunction(method) else _Thread)(method, call, request)


class Guard:
    """The permits of a plugin, and the calls that run."""

    def __init__(self, permits: int) -> None:
        self._permits = asyncio.Semaphore(permits)
        self.running = 0

    async def guarded(self, method: Callable[..., Any], call: ConfigCall, request: Any) -> Any:
        """Waits for a permit, then works until the deadline.

        Raises `Contained` for an exception of the author's, `Timeout` at the deadline, and `Rejected` where it passes before the work could begin.
        """
        try:
            async with asyncio.timeout(call.deadline.remaining):
                await self._permits.acquire()
        except TimeoutError:
            raise _not_begun() from None
        # A process that was stopped meanwhile finds the timer late: check again.
        if call.deadline.has_passed:
            self._permits.release()
            raise _not_begun()
        try:
            running = run(method, call, request)
        except BaseException:
            self._permits.release()
            raise
        self.running += 1
        running.future.add_done_callback(self._ended)
        try:
            done, _ = await asyncio.wait({running.future}, timeout=call.deadline.remaining)
        except asyncio.CancelledError:
            call._cancelled = True
            running.stop()
            raise
        if not done:
            running.stop()
            raise Timeout("the call's deadline passed before the work was done", reason="DeadlineExceeded")
        if running.future.cancelled():
            raise Contained(asyncio.CancelledError())
        result = running.future.result()
        if isinstance(result, Contained):
            raise result
        return result

    def _ended(self, future: asyncio.Future[Any]) -> None:
        self.running -= 1
        self._permits.release()
        if not future.cancelled() and future.exception() is not None:
            logger.error("a call ended by %s", type(future.exception()).__name__)


def _not_begun() -> Rejected:
    return Rejected(grpc.StatusCode.FAILED_PRECONDITION, "the deadline passed before the call could begin: nothing was done")
