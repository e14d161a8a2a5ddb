"""`garden-plugin`: serves until SIGTERM."""

import logging
import os
import sys

from . import bed, plant, serve
from .stop import StopSignals


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    endpoint = os.environ.get("PROVIDER_PLUGIN_ENDPOINT")
    if not endpoint:
        sys.exit("set PROVIDER_PLUGIN_ENDPOINT to where the bridge shall find this plugin: unix:///path, or https://host:port")
    # Before anything is served: a signal that comes at once counts too.
    stop = StopSignals()
    try:
        serve.serve(endpoint, [bed.Beds(), plant.Plants()], stop)
    except serve.CannotServe as error:
        sys.exit(f"cannot serve at {endpoint}: {error}")


if __name__ == "__main__":
    main()
