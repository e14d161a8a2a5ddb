"""The garden: a SQLite database in a folder. This is the cloud; all that is lasting is in it."""

import contextlib
import hashlib
import hmac
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crossbridge.provider.v1alpha1 import target_pb2

from .call import Call, Failed, read

SCHEMA = """
CREATE TABLE IF NOT EXISTS beds (
    name TEXT PRIMARY KEY, parameters TEXT NOT NULL, hiding_place TEXT, marker TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE IF NOT EXISTS plants (
    id INTEGER PRIMARY KEY AUTOINCREMENT, parameters TEXT NOT NULL, marker TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1,
    token TEXT NOT NULL UNIQUE, request TEXT NOT NULL, planted_at REAL NOT NULL, grown_at REAL NOT NULL, removed_at REAL
);
"""


@dataclass(frozen=True)
class Garden:
    """A garden whose gate is open."""

    folder: Path
    deadline: float

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Reads, all of one moment."""
        with self._open("BEGIN") as rows:
            yield rows

    @contextlib.contextmanager
    def change(self, call: Call) -> Iterator[sqlite3.Connection]:
        """Changes all or nothing, and nothing after the call's deadline or its end."""
        with self._open("BEGIN IMMEDIATE") as rows:
            call.ensure_time()
            yield rows
            call.ensure_time()
            rows.execute("COMMIT")

    @contextlib.contextmanager
    def _open(self, begin: str) -> Iterator[sqlite3.Connection]:
        try:
            rows = sqlite3.connect(self.folder / "garden.db", timeout=max(0, self.deadline - time.time()), isolation_level=None)
            rows.row_factory = sqlite3.Row
            rows.execute("PRAGMA synchronous = FULL")
            rows.executescript(SCHEMA)
            rows.execute(begin)
        except sqlite3.Error as error:
            raise Failed("UNAVAILABLE", "GardenUnavailable", f"The garden cannot be entered: {error}.") from error
        # What is not committed is undone.
        with contextlib.closing(rows):
            yield rows


def enter(config: target_pb2.ConfigContext, deadline: float) -> Garden:
    """Opens the gate: `keys` in the folder, if there is such a file, holds the SHA-256 of each key that does, in hexadecimal digits."""
    settings = read(config.settings, "config.settings") if config.HasField("settings") else {}
    folder = settings.get("folder")
    if not isinstance(folder, str) or not Path(folder).is_dir():
        raise Failed("INVALID_CONFIG", "NoGarden", "The folder of the settings does not exist on the plugin's machine.")
    if config.HasField("credentials_expire_time") and config.credentials_expire_time.ToNanoseconds() <= time.time_ns():
        raise Failed("CREDENTIALS_EXPIRED", "KeyExpired", "The key has expired.")
    if config.credentials and "key" not in config.credentials:
        raise Failed("UNAUTHENTICATED", "NoKey", "The credentials hold no `key`.")
    try:
        accepted = (Path(folder) / "keys").read_text().split()
    except FileNotFoundError:
        return Garden(Path(folder), deadline)
    except (OSError, UnicodeDecodeError) as error:
        raise Failed("UNAVAILABLE", "GardenUnavailable", "The list of keys cannot be read.") from error
    digest = hashlib.sha256(config.credentials.get("key", b"")).hexdigest()
    if not any(hmac.compare_digest(digest, one) for one in accepted):
        raise Failed("UNAUTHENTICATED", "WrongKey", "This key does not open the garden.")
    return Garden(Path(folder), deadline)


def of(call: Call) -> Garden:
    return enter(call.target.config, call.deadline)
