"""The demonstration banks that run in this process. Each bank uses the format of its protocol version."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from chalicelib.demo_bank import format_v1, format_v2
from chalicelib.demo_bank.format import Format
from chalicelib.demo_bank.profiles import BY_NAME, BankName
from chalicelib.demo_bank.runtime import DemoBank, Services
from chalicelib.demo_bank.webhook_format import WebhookFormat

FORMATS: Mapping[int, Format] = {1: format_v1.FORMAT, 2: format_v2.FORMAT}
"""The bank formats by protocol version number."""
WEBHOOK_FORMATS: Mapping[int, WebhookFormat] = {1: format_v1.WEBHOOKS, 2: format_v2.WEBHOOKS}
"""The webhook formats by protocol version number."""


@lru_cache(maxsize=len(BY_NAME))  # made anew when the process is wired anew
def get_bank(name: BankName, host: Services) -> DemoBank:
    """Return the bank with this name, using the infrastructure of ``host``."""
    profile = BY_NAME[name]
    return DemoBank(profile, FORMATS[profile.version], host)
