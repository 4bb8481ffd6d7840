"""Clients of boto3 for SES and S3, which few functions call; boto3 is imported when one is made."""

from __future__ import annotations

from typing import Any

from chalicelib.foundation.aws import environment
from chalicelib.foundation.version import USER_AGENT


def client(service: str) -> Any:
    """A client with timeouts of its own, whatever the time limit of the request; it sends a call at most twice."""
    import boto3
    from botocore.config import Config

    repeats = {"mode": "standard", "total_max_attempts": 2}
    config = Config(connect_timeout=2, read_timeout=6, retries=repeats, tcp_keepalive=True, user_agent=USER_AGENT)
    return boto3.client(service, region_name=environment.region(), config=config)
