"""SIGTERM and SIGINT, seen whichever thread the kernel hands them to."""

import signal
import socket


class StopSignals:
    """Must be created on the main thread.

    An event that a signal handler sets is not enough: handlers run on the main thread only, and that may sleep on the event's lock while another
    thread takes the signal. A file descriptor is written to at once, by whichever thread it is.
    """

    def __init__(self) -> None:
        self._read, self._write = socket.socketpair()
        self._write.setblocking(False)
        signal.set_wakeup_fd(self._write.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)

    def wait(self) -> None:
        self._read.recv(1)
