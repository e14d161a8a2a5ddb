"""Runs the calls of a vector over a real socket, and compares what comes back."""

import asyncio
import json
import logging
import tempfile
import time
from pathlib import Path

import grpc
import grpc.aio
from google.protobuf import json_format
from vector_plugin import World, plugin

from crossbridge_sdk._proto import discovery_service_pb2, plugin_service_pb2, resource_service_pb2

MODULES = (plugin_service_pb2, resource_service_pb2, discovery_service_pb2)
METHODS = {
    method.name: (service.full_name, getattr(module, method.input_type.name), getattr(module, method.output_type.name))
    for module in MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
# Of a wait that should be short.
LIMIT = 30


def merged(base, patch):
    """As RFC 7396 has it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif set(value) & {"$repeat", "$saved"} if isinstance(value, dict) else False:
            result[name] = value
        else:
            result[name] = merged(result.get(name), value)
    return result


def replaced(value, saved):
    match value:
        case {"$repeat": [text, count]}:
            return text * count
        case {"$saved": label}:
            return saved[label]
        case dict():
            return {name: replaced(member, saved) for name, member in value.items()}
        case list():
            return [replaced(item, saved) for item in value]
    return value


def canonical(value):
    """Of schemas: an empty `properties` or `required` equals none, and `required` has no order."""
    if isinstance(value, dict):
        found = {name: canonical(member) for name, member in value.items() if name not in ("properties", "required") or member}
        if isinstance(found.get("required"), list):
            found["required"] = sorted(found["required"])
        return found
    return [canonical(item) for item in value] if isinstance(value, list) else value


def differs(expected, found, saved, at="answer"):
    """What does not match; None: nothing."""
    if isinstance(expected, dict):
        operators = [name for name in expected if name.startswith("$")]
        if operators:
            problems = [operator_differs(name, expected[name], found, saved, at) for name in operators]
            return next((problem for problem in problems if problem), None)
        if not isinstance(found, dict):
            return f"{at}: {found!r} is no object"
        problems = [differs(member, found.get(name), saved, f"{at}.{name}") for name, member in expected.items()]
        return next((problem for problem in problems if problem), None)
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return f"{at}: {found!r} has not {len(expected)} items"
        problems = [differs(one, other, saved, f"{at}[{index}]") for index, (one, other) in enumerate(zip(expected, found, strict=True))]
        return next((problem for problem in problems if problem), None)
    return None if type(expected) is type(found) and expected == found else f"{at}: {found!r} is not {expected!r}"


def operator_differs(name, operand, found, saved, at):
    match name:
        case "$unset":
            holds = not found
        case "$any":
            holds = bool(found)
        case "$contains":
            holds = isinstance(found, str) and operand.lower() in found.lower()
        case "$lacks":
            holds = isinstance(found, str) and operand.lower() not in found.lower()
        case "$json":
            holds = isinstance(found, str) and canonical(json.loads(found)) == canonical(operand)
        case "$equals":
            holds = found == operand
        case "$oneOf":
            holds = found in operand
        case "$unordered":
            key = lambda value: json.dumps(value, sort_keys=True)  # noqa: E731
            holds = isinstance(found, list) and sorted(found, key=key) == sorted(operand, key=key)
        case "$saved":
            holds = found == saved[operand]
        case "$not":
            holds = differs(operand, found, saved, at) is not None
        case _:
            raise AssertionError(f"unknown operator {name}")
    return None if holds else f"{at}: {found!r} does not match {name} {operand!r}"


class Log(logging.Handler):
    def __init__(self, lines):
        super().__init__(logging.DEBUG)
        self.lines = lines

    def emit(self, record):
        self.lines.append(self.format(record))


class Runner:
    def __init__(self, base, *, threads=False):
        self.base, self.threads = base, threads
        self.saved, self.calls = {}, {}
        self.folder = tempfile.TemporaryDirectory()
        self.world = World()
        self.log = Log(self.world.printed)

    async def __aenter__(self):
        logger = logging.getLogger("crossbridge_sdk")
        logger.addHandler(self.log)
        logger.setLevel(logging.DEBUG)
        await self.start()
        return self

    async def __aexit__(self, *_):
        self.world.released.set()
        for call in self.calls.values():
            call.cancel()
        await self.end()
        logging.getLogger("crossbridge_sdk").removeHandler(self.log)
        self.folder.cleanup()

    async def start(self):
        path = Path(self.folder.name, "plugin.sock")
        self.stop = asyncio.Event()
        self.serving = asyncio.create_task(plugin(self.world, threads=self.threads).serve_at(f"unix://{path}", self.stop))
        await self.until(lambda: self.serving.done() or path.exists(), "the plugin to serve")
        if self.serving.done():
            self.serving.result()
        self.channel = grpc.aio.insecure_channel(f"unix:{path}")

    async def end(self):
        self.stop.set()
        async with asyncio.timeout(LIMIT):
            await self.serving
        await self.channel.close()

    async def until(self, holds, what):
        end = time.monotonic() + LIMIT
        while not holds():
            assert time.monotonic() < end, f"{what}: {self.world.events}"
            await asyncio.sleep(0.005)

    async def run(self, vector):
        for step in vector["steps"]:
            match step:
                case {"call": _, "start": label}:
                    self.calls[label] = self.send(step)
                case {"call": _}:
                    begun = time.monotonic()
                    await self.compare(self.send(step), step.get("expect", {}), step.get("save", {}), begun)
                case {"await": label}:
                    await self.compare(self.calls[label], step["expect"], {}, time.monotonic())
                case {"cancel": label}:
                    self.calls[label].cancel()
                case {"until": events}:
                    await self.until(lambda events=events: self.world.events == events, f"the events {events}")
                case {"release": True}:
                    self.world.released.set()
                case {"stop": True}:
                    self.stop.set()
                case {"ended": True}:
                    async with asyncio.timeout(LIMIT):
                        await self.serving
                case {"restart": True}:
                    await self.end()
                    await self.start()
                case _:
                    raise AssertionError(f"unknown step {step}")

    def send(self, step):
        rpc = step["call"]
        kind = f"{rpc}/{step.get('kind', 'Widget')}"
        request = merged(self.base[kind if kind in self.base else rpc], step.get("request", {}))
        if "parameters" in step or "script" in step:
            parameters = dict(step.get("parameters", {}))
            if "script" in step:
                parameters["script"] = step["script"]
            request = merged(request, {"desired": {"parameters": {"json": json.dumps(parameters)}}})
        service, input_type, output_type = METHODS[rpc]
        message = json_format.ParseDict(replaced(request, self.saved), input_type())
        metadata = list(step.get("metadata", {}).items())
        if "deadlineInMs" in step:
            metadata.append(("crossbridge-deadline-ms", str(int(time.time() * 1000) + step["deadlineInMs"])))
        timeout = step.get("timeoutMs", 20000)
        method = self.channel.unary_unary(
            f"/{service}/{rpc}", request_serializer=input_type.SerializeToString, response_deserializer=output_type.FromString
        )
        return method(message, timeout=None if timeout is None else timeout / 1000, metadata=metadata)

    async def compare(self, call, expect, save, begun):
        try:
            answer, status, message = json_format.MessageToDict(await call), None, None
        except grpc.aio.AioRpcError as error:
            answer, status, message = None, error.code().name, error.details()
        said = f"{status}: {message}" if status else f"{answer}"
        if "status" in expect:
            assert status is not None, f"answered: {answer}"
            assert not (problem := differs(expect["status"], status, self.saved, "status")), f"{problem}: {said}"
            if "message" in expect:
                assert not (problem := differs(expect["message"], message, self.saved, "message")), problem
        else:
            assert status is None, said
            assert not (problem := differs(expect.get("answer", {}), answer, self.saved)), f"{problem}: {said}"
        if "withinMs" in expect:
            assert (time.monotonic() - begun) * 1000 < expect["withinMs"]
        for path, label in save.items():
            value = answer
            for segment in path.split("."):
                value = value[int(segment)] if isinstance(value, list) else value.get(segment)
            self.saved[label] = value
        if "events" in expect:
            await self.until(lambda: self.world.events == expect["events"], f"the events {expect['events']}")
        for text in expect.get("printedLacks", []):
            assert not [line for line in self.world.printed if text in line]
