"""Serving a plugin: endpoint, transport, health, reflection, drain."""

from .endpoint import ENDPOINT, ServeError
from .server import serve

__all__ = ["ENDPOINT", "ServeError", "serve"]
