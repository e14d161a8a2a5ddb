"""`garden-plugin`: serves until SIGTERM."""

import sqlite3
from importlib.metadata import version

from crossbridge_sdk import CredentialKey, Plugin, Unavailable

from . import garden
from .bed import Beds
from .plant import Plants


def plugin() -> Plugin:
    return Plugin(
        "garden.example.org",
        version("garden-plugin"),
        [Beds(), Plants()],
        settings=garden.Settings,
        credentials=[CredentialKey("key", "Opens the gate.", required=True)],
        check_config=lambda call: str(garden.enter(call).folder),
        failures={sqlite3.Error: lambda error: Unavailable(f"The garden cannot be entered: {error}.", reason="GardenUnavailable")},
        max_concurrent_calls=64,
    )


def main() -> None:
    plugin().serve()


if __name__ == "__main__":
    main()
