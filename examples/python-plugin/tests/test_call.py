import tempfile
import unittest
from itertools import chain, repeat

import calls
import grpc
from garden_plugin.bed import Beds
from garden_plugin.call import Rejected


class CallTest(unittest.TestCase):
    def test_its_text_holds_no_secret(self):
        self.assertNotIn(calls.SECRET, repr(calls.call("/tmp")))

    def test_a_cancelled_call_has_no_effect(self):
        with tempfile.TemporaryDirectory() as folder:
            # They go before the work begins, or before it counts.
            for is_wanted in (repeat(False), chain([True], repeat(False))):
                with self.assertRaises(Rejected) as rejected:
                    Beds().create(calls.call(folder, is_wanted=is_wanted.__next__), "token")
                self.assertEqual(rejected.exception.status, grpc.StatusCode.FAILED_PRECONDITION)
                self.assertTrue(Beds().observe(calls.call(folder)).HasField("absent"))
            Beds().create(calls.call(folder), "token")
            self.assertTrue(Beds().observe(calls.call(folder)).HasField("observation"))
