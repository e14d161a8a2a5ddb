import logging
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock
from urllib.parse import quote, urlsplit

import calls
import grpc
from crossbridge.provider.v1alpha1 import resource_service_pb2_grpc
from garden_plugin import serve
from garden_plugin.bed import Beds
from garden_plugin.call import Call, Rejected
from grpc_health.v1 import health_pb2, health_pb2_grpc

# Of a wait that should be short; far below the longest call.
LIMIT = 30


class Waits(Beds):
    """Creates nothing until its caller goes away."""

    def __init__(self):
        self.begun, self.ended, self.how = threading.Event(), threading.Event(), None

    def create(self, call: Call, token: str):
        self.begun.set()
        try:
            while True:
                call.ensure_time()
                self.ended.wait(0.01)
        except Rejected as rejected:
            self.how = rejected.status
            raise
        finally:
            self.ended.set()


class ServeTest(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.INFO)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.folder, self.stop = self.enterContext(tempfile.TemporaryDirectory()), threading.Event()
        # A path is taken as it is written.
        path = Path(self.folder, "a b%20.sock")
        self.bed = Waits()
        self.serving = threading.Thread(target=serve.serve, args=(f"unix://{path}", [self.bed], self.stop), daemon=True)
        self.serving.start()
        # In reverse: what it logs at its end is of this test.
        self.addCleanup(self.serving.join, LIMIT)
        self.addCleanup(self.stop.set)
        self.channel = self.enterContext(grpc.insecure_channel(f"unix:{quote(str(path))}"))
        self.watch = health_pb2_grpc.HealthStub(self.channel).Watch(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=4 * LIMIT)
        self.assertEqual(next(self.watch).status, health_pb2.HealthCheckResponse.SERVING)
        self.assertTrue(path.is_socket())

    def test_an_open_stream_does_not_hold_up_the_end(self):
        self.stop.set()
        self.assertEqual(next(self.watch).status, health_pb2.HealthCheckResponse.NOT_SERVING)
        self.serving.join(LIMIT)
        self.assertFalse(self.serving.is_alive())

    def test_a_call_ends_with_its_caller(self):
        stub = resource_service_pb2_grpc.ResourceServiceStub(self.channel)
        call = stub.Create.future(calls.create(self.folder), timeout=LIMIT)
        self.assertTrue(self.bed.begun.wait(LIMIT))
        call.cancel()
        # Well before its deadline.
        self.assertTrue(self.bed.ended.wait(LIMIT / 2))
        self.assertEqual(self.bed.how, grpc.StatusCode.FAILED_PRECONDITION)


class EndpointTest(unittest.TestCase):
    def test_addresses_keep_their_brackets(self):
        for endpoint, address in {
            "http://[::1]:9000": "[::1]:9000",
            "http://127.0.0.1:80": "127.0.0.1:80",
            "https://localhost:443": "localhost:443",
        }.items():
            self.assertEqual(serve.address(urlsplit(endpoint)), address)

    def test_an_unservable_endpoint_is_rejected(self):
        server = mock.Mock()
        for endpoint in ("plugin.sock", "unix://plugin.sock", "http://0.0.0.0:80", "http://127.0.0.1", "http://[::1", "tcp://127.0.0.1:80"):
            with self.assertRaises(serve.CannotServe, msg=endpoint):
                serve.bind(server, endpoint)
        self.assertEqual(server.mock_calls, [])
