"""HTTP sessions with the running stack, for the tools beside it."""

from __future__ import annotations

import os

import requests


def new_session() -> requests.Session:
    """A session without proxies that trusts the authorities of the stack in the environment, ``OUTBOUND_CA_FILE``."""
    session = requests.Session()
    session.trust_env = False
    session.verify = os.environ.get("OUTBOUND_CA_FILE") or True
    return session
