"""The one class that a kind implements."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from pydantic import BaseModel

from .answer import Absent, Listed, Observation, Operation, Outcome
from .call import Call, ConfigCall, Create, Delete, Known, List, Poll, Update
from .kind import Kind

P = TypeVar("P", bound=BaseModel)
S = TypeVar("S", bound=BaseModel)

Observed: TypeAlias = Observation | Absent
Changed: TypeAlias = Outcome | Operation


class Resource(Generic[P, S]):
    """One kind of external resource: `class Bed(Resource[BedParameters, BedStatus])`, with a `kind` and its methods.

    A method is `async`, or a plain one, which runs in a thread of its own: blocking code in an `async` one would stop every other call. At a call's
    deadline an `async` method is cancelled at its `await`; a plain one is left to itself, and asks `call.ensure_active()` before each request
    that counts. Nothing is kept between two calls that the next one cannot do without: it may reach another replica.

    A failure is raised: `raise NotFound("…")`. An exception that is no `Failure` is a bug: `INTERNAL`, of unknown effect, logged with its place.
    """

    kind: ClassVar[Kind]

    def observe(self, call: Call, desired: Known[P]) -> Observed | Awaitable[Observed]:
        """Reads the external resource. Changes nothing. A read that failed is a failure, never `Absent`.

        `call.name` is empty only for kinds that can be observed without one: derived names, and recovery by marker.
        """
        raise NotImplementedError

    def create(self, call: Call, create: Create[P]) -> Changed | Awaitable[Changed]:
        """Creates it, or returns an `Operation` that will. Never takes over what exists.

        As soon as the upstream has given a name, record it with `call.record_name`: the answer then carries it, however the call ends.
        """
        raise NotImplementedError

    def update(self, call: Call, update: Update[P]) -> Changed | Awaitable[Changed]:
        """Changes it in place. Never creates one: absent is `NotFound`."""
        raise NotImplementedError

    def delete(self, call: Call, delete: Delete[P]) -> Changed | Awaitable[Changed]:
        """Removes it. Absent already is `Outcome.completed(already_done=True)`."""
        raise NotImplementedError

    def poll(self, call: Call, poll: Poll[P]) -> Changed | Awaitable[Changed]:
        """Where has an operation got to? Needed only by kinds that hand out operations."""
        raise NotImplementedError

    def list(self, call: ConfigCall, request: List) -> Listed | Awaitable[Listed]:
        """One page of what exists. A kind that has this method is listed."""
        raise NotImplementedError


def has(resource: type[Resource[Any, Any]], method: str) -> bool:
    """Whether a class implements a method."""
    return getattr(resource, method) is not getattr(Resource, method)


def documents(resource: type[Resource[Any, Any]]) -> tuple[Any, Any] | None:
    """Returns the types of parameters and status; None: the class does not name them."""
    for base in inspect.getmro(resource):
        for parameterized in getattr(base, "__orig_bases__", ()):
            arguments = typing.get_args(parameterized)
            if typing.get_origin(parameterized) is Resource and len(arguments) == 2 and not any(isinstance(one, TypeVar) for one in arguments):
                return arguments[0], arguments[1]
    return None


def place(resource: type[Resource[Any, Any]]) -> str:
    """Returns the class and its file, for messages to its author."""
    try:
        file = inspect.getsourcefile(resource) or "an unknown file"
        line = inspect.getsourcelines(resource)[1]
    except (OSError, TypeError):
        return f"class {resource.__module__}.{resource.__qualname__}"
    return f"class {resource.__qualname__} in {file}:{line}"
