"""A Unix socket that only its owner can reach, or the group of a folder that says so, and that leaves no file behind."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import secrets
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

from .endpoint import ServeError

logger = logging.getLogger("crossbridge_sdk")


@contextlib.contextmanager
def bound(path: Path, bind: Callable[[str], object]) -> Iterator[None]:
    """Binds a socket of mode 0600 (in a folder with the setgid bit: 0660), and removes its file in the end.

    A file left behind by a process that has ended is replaced.
    """
    _reject_if_in_use(path)
    # Bound under another name first, so that no process ever finds it with a wider mode, and a stale file goes in the same step. The name is random,
    # as processes of several containers have the same id; and short, as sockets have little room for their paths.
    temporary = path.with_name(f".{secrets.token_hex(4)}")
    before = os.umask(0o177)
    try:
        bind(f"unix:{quote(str(temporary))}")
        # With the setgid bit the bridge runs as another user of the folder's group.
        shared = path.parent.stat().st_mode & stat.S_ISGID
        temporary.chmod(0o660 if shared else 0o600)
        ours = temporary.lstat()
        temporary.rename(path)
    except (OSError, RuntimeError) as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise _unservable(path, str(error)) from None
    finally:
        os.umask(before)
    try:
        yield
    finally:
        _remove(path, ours)


def _remove(path: Path, ours: os.stat_result) -> None:
    try:
        found = path.lstat()
        if (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino):
            path.unlink()
    except FileNotFoundError:
        pass
    except OSError as error:
        logger.warning("failed to remove the socket file %s: %s: the next start replaces it", path, error.strerror)


def _reject_if_in_use(path: Path) -> None:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise _unservable(path, "there is a file that is no socket; remove it, or name another path")
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unservable(path, str(error)) from None
    with socket.socket(socket.AF_UNIX) as probe:
        result = probe.connect_ex(str(path))
    if result == 0:
        raise _unservable(path, "another process serves there; stop it, or name another path")
    if result != errno.ECONNREFUSED:
        raise _unservable(path, f"cannot find out whether another process serves there: {os.strerror(result)}")


def _unservable(path: Path, why: str) -> ServeError:
    return ServeError(f"cannot serve at the socket {path}: {why}")
