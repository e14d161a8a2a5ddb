import subprocess
import sys
import unittest

# A thread that does nothing but take the signal, as those of gRPC may.
PROGRAM = """
import signal, threading
from garden_plugin.stop import StopSignals
stop = StopSignals()
threading.Thread(target=lambda: signal.pthread_kill(threading.get_ident(), signal.SIGTERM) or threading.Event().wait(), daemon=True).start()
stop.wait()
"""


class StopTest(unittest.TestCase):
    def test_a_signal_that_another_thread_takes_is_seen(self):
        ended = subprocess.run([sys.executable, "-c", PROGRAM], timeout=30)
        self.assertEqual(ended.returncode, 0)
