"""Calls that are cut off inside, as a killed process cuts them."""

from __future__ import annotations

import asyncio
import enum
import inspect
import os
import sys
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from types import FrameType
from typing import Any

from ..call import ConfigCall
from ..failure import Timeout
from ..guard import Contained, Guard


class Cut(enum.Enum):
    """Where a call was when it was cut off."""

    INSIDE = 1
    """It did not go on."""
    ENDED = 2
    """At its end: its answer is lost."""


class Killed(BaseException):
    """The process, so to speak, is no more. Context managers close what the system would close; nothing else is to catch it."""


class _Cutter:
    """Counts the points that a call passes, and says where it ends."""

    def __init__(self, is_due: Callable[[int], bool]) -> None:
        self._is_due = is_due
        self.passed = 0
        self.place = "before it began"
        self.in_thread = False

    def is_due(self) -> bool:
        return self._is_due(self.passed)

    def pass_on(self, place: str) -> None:
        self.passed += 1
        self.place = place


_cutter: ContextVar[_Cutter | None] = ContextVar("crossbridge_cutter", default=None)


class _Driven:
    """Drives a coroutine from wait to wait. What it waits for is let come, so that the upstream has done it and only the plugin does not know."""

    def __init__(self, call: Coroutine[Any, Any, Any], cutter: _Cutter) -> None:
        self._call = call
        self._cutter = cutter

    def __await__(self) -> Generator[Any, Any, Cut]:
        error: BaseException | None = None
        while True:
            if not self._cutter.in_thread:
                if self._cutter.is_due():
                    self._call.close()
                    return Cut.INSIDE
                self._cutter.pass_on(f"at wait {self._cutter.passed + 1}")
            try:
                waited_for = self._call.send(None) if error is None else self._call.throw(error)
            except StopIteration:
                return Cut.ENDED
            except Killed:
                return Cut.INSIDE
            error = None
            try:
                yield waited_for
            except BaseException as thrown:  # noqa: BLE001 (it is the call's)
                error = thrown


async def cut_at(point: int, call: Coroutine[Any, Any, Any]) -> Cut:
    """Cuts a call at the point of this number: 0, before it has begun; then at each `await` that waits, or each line of a plain method.

    A call with fewer points goes to its end, and its answer is lost.
    """
    return await _cut(call, _Cutter(lambda passed: passed == point))


async def cut_once(so: Callable[[], bool], call: Coroutine[Any, Any, Any]) -> Cut:
    """Cuts a call at the first point at which this is so: when the upstream has created it, for instance."""
    return await _cut(call, _Cutter(lambda _: so()))


async def _cut(call: Coroutine[Any, Any, Any], cutter: _Cutter) -> Cut:
    token = _cutter.set(cutter)
    try:
        return await _Driven(call, cutter)
    finally:
        _cutter.reset(token)


async def cut_with_place(point: int, call: Coroutine[Any, Any, Any]) -> tuple[Cut, str]:
    """Cuts likewise, and says where."""
    cutter = _Cutter(lambda passed: passed == point)
    return await _cut(call, cutter), cutter.place


class LabGuard(Guard):
    """Runs the author's code where a test can cut it."""

    async def guarded(self, method: Callable[..., Any], call: ConfigCall, request: Any) -> Any:
        """Works until the deadline, without the permits of a served plugin."""
        try:
            async with asyncio.timeout(call.deadline.remaining):
                if inspect.iscoroutinefunction(method):
                    return await method(call, request)
                return await self._in_thread(method, call, request)
        except TimeoutError as error:
            if call.deadline.has_passed:
                raise Timeout("the call's deadline passed before the work was done", reason="DeadlineExceeded") from None
            raise Contained(error) from None
        except asyncio.CancelledError:
            call._cancelled = True
            raise
        except Exception as error:  # noqa: BLE001 (the author's)
            raise Contained(error) from None

    async def _in_thread(self, method: Callable[..., Any], call: ConfigCall, request: Any) -> Any:
        cutter = _cutter.get()
        if cutter is None:
            return await asyncio.to_thread(method, call, request)
        cutter.in_thread = True
        try:
            return await asyncio.to_thread(_traced, cutter, method, call, request)
        finally:
            cutter.in_thread = False


def _own_code(method: Callable[..., Any]) -> tuple[str, ...]:
    """Returns how the file names of the author's own code begin: the package of a method, or the one file that it stands in."""
    module = sys.modules[method.__module__]
    package = sys.modules.get((module.__package__ or "").partition(".")[0])
    if package is not None:
        return tuple(os.path.join(folder, "") for folder in package.__path__)  # noqa: PTH118 (code objects name files by texts)
    return (inspect.getfile(method),)


def _traced(cutter: _Cutter, method: Callable[..., Any], call: ConfigCall, request: Any) -> Any:
    """Runs a plain method that is cut at a line of the author's own code."""
    own = _own_code(method)

    def at_line(frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            if cutter.is_due():
                raise Killed
            cutter.pass_on(f"at {os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}")  # noqa: PTH119
        return at_line

    def at_call(frame: FrameType, _event: str, _argument: Any) -> Any:
        return at_line if frame.f_code.co_filename.startswith(own) else None

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        return method(call, request)
    finally:
        sys.settrace(before)
