"""The garden: a SQLite database in a folder. This is the cloud; all that is lasting is in it."""

import contextlib
import hashlib
import hmac
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crossbridge_sdk import ConfigCall, InvalidConfig, Model, Unauthenticated, Unavailable

SCHEMA = """
CREATE TABLE IF NOT EXISTS beds (
    name TEXT PRIMARY KEY, parameters TEXT NOT NULL, hiding_place TEXT, marker TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE IF NOT EXISTS plants (
    id INTEGER PRIMARY KEY AUTOINCREMENT, parameters TEXT NOT NULL, marker TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1,
    token TEXT NOT NULL UNIQUE, request TEXT NOT NULL, planted_at REAL NOT NULL, grown_at REAL NOT NULL, removed_at REAL
);
"""


class Settings(Model):
    folder: str
    """Where the garden is, on the plugin's machine. It must exist."""


@dataclass(frozen=True)
class Garden:
    """A garden whose gate is open."""

    folder: Path
    call: ConfigCall

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Reads, all of one moment."""
        with self._open("BEGIN") as rows:
            yield rows

    @contextlib.contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Changes all or nothing, and nothing after the call's deadline or its end."""
        with self._open("BEGIN IMMEDIATE") as rows:
            self.call.ensure_active()
            yield rows
            self.call.ensure_active()
            rows.execute("COMMIT")

    @contextlib.contextmanager
    def _open(self, begin: str) -> Iterator[sqlite3.Connection]:
        # What is not committed is undone.
        with contextlib.closing(sqlite3.connect(self.folder / "garden.db", timeout=self.call.deadline.remaining, isolation_level=None)) as rows:
            rows.row_factory = sqlite3.Row
            rows.execute("PRAGMA synchronous = FULL")
            rows.executescript(SCHEMA)
            rows.execute(begin)
            yield rows


def enter(call: ConfigCall) -> Garden:
    """Opens the gate: `keys` in the folder, if there is such a file, holds the SHA-256 of each key that does, in hexadecimal digits."""
    folder = Path(call.config.settings(Settings).folder)
    if not folder.is_dir():
        raise InvalidConfig("The folder of the settings does not exist on the plugin's machine.", reason="NoGarden")
    try:
        accepted = (folder / "keys").read_text().split()
    except FileNotFoundError:
        return Garden(folder, call)
    except (OSError, UnicodeDecodeError):
        raise Unavailable("The list of keys cannot be read.", reason="GardenUnavailable") from None
    digest = hashlib.sha256(call.config.credential("key") or b"").hexdigest()
    if not any(hmac.compare_digest(digest, one) for one in accepted):
        raise Unauthenticated("This key does not open the garden.", reason="WrongKey")
    return Garden(folder, call)
