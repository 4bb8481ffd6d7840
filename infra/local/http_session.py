"""HTTP sessions with the running stack, for other tools of this repository."""

from __future__ import annotations

import os

import requests


def new_session() -> requests.Session:
    """Create a session without proxies that trusts the authorities of ``OUTBOUND_CA_FILE``."""
    session = requests.Session()
    session.trust_env = False
    session.verify = os.environ.get("OUTBOUND_CA_FILE") or True
    return session
