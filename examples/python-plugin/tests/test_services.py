import logging
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import calls
import grpc
from crossbridge.provider.v1alpha1 import failure_pb2
from crossbridge.provider.v1alpha1 import plugin_service_pb2 as plugin
from garden_plugin.bed import Beds
from garden_plugin.plugin_service import PluginService
from garden_plugin.resource_service import ResourceService


class ServicesTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.plugin, self.resource = PluginService([Beds()]), ResourceService([Beds()])

    def check_config(self) -> plugin.CheckConfigResponse:
        return self.plugin.CheckConfig(plugin.CheckConfigRequest(config=calls.target(self.folder).config), calls.context())

    def test_a_name_that_is_too_long_is_rejected(self):
        with self.assertLogs(level=logging.INFO):
            longest = self.resource.Create(calls.create(self.folder, "a" * 63), calls.context()).outcome
            longer = self.resource.Create(calls.create(self.folder, "a" * 64), calls.context()).outcome
        self.assertTrue(longest.HasField("completed"), longest)
        self.assertEqual(longer.failure.code, failure_pb2.FAILURE_CODE_INVALID_SPEC)
        self.assertEqual([violation.path for violation in longer.failure.violations], [""])

    def test_the_log_says_how_a_call_ended(self):
        with self.assertLogs(level=logging.INFO) as log:
            self.resource.Create(calls.create(self.folder), calls.context())
            self.resource.Create(calls.create(self.folder + "/none"), calls.context())
            with self.assertRaises(calls.Aborted):
                self.resource.Create(calls.create(self.folder), calls.context(left=3600))
        endings = [record.getMessage().split(": ", 1)[1] for record in log.records]
        rejected = "rejected: a call that changes something needs a deadline of at most 60 s"
        self.assertEqual(endings, ["done", "NoGarden", rejected])

    def test_a_bug_is_logged_with_its_place_and_no_secret(self):
        def fails(*_):
            raise ValueError(calls.SECRET)

        with self.assertLogs(level=logging.INFO) as log, mock.patch("garden_plugin.garden.enter", fails):
            created = self.resource.Create(calls.create(self.folder), calls.context()).outcome.failure
            checked = self.check_config().failure
        with self.assertLogs(level=logging.INFO) as more, mock.patch("garden_plugin.plugin_service.version", fails):
            with self.assertRaises(calls.Aborted) as aborted:
                self.plugin.GetPluginInfo(plugin.GetPluginInfoRequest(), calls.context())
        self.assertEqual(aborted.exception.args[0], grpc.StatusCode.INTERNAL)
        self.assertEqual([failure.reason for failure in (created, checked)], ["PluginBug", "PluginBug"])
        self.assertEqual(created.effect, failure_pb2.EFFECT_UNKNOWN)
        for line in log.output + more.output:
            self.assertRegex(line, r"ValueError at .*test_services\.py:\d+$")
        self.assertNotIn(calls.SECRET, f"{created} {checked} {aborted.exception} {log.output} {more.output}")

    def test_keys_that_cannot_be_read_are_a_failure_of_the_garden(self):
        Path(self.folder, "keys").write_bytes(b"\xff\xfe")
        with self.assertLogs(level=logging.INFO):
            failure = self.check_config().failure
        self.assertEqual(failure.code, failure_pb2.FAILURE_CODE_UNAVAILABLE)
