"""``security.txt`` (RFC 9116): where to report a vulnerability of the stage."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

_VALID_DAYS = 90
"""The number of days until the file expires (RFC 9116 §2.5.5). The expiry moves forward every day."""


def security_text(contact: str, public_url: str, now: datetime) -> str:
    """Return the file with CRLF line ends, as the RFC requires. ``contact`` is a URL."""
    expires = datetime.combine(now.date() + timedelta(days=_VALID_DAYS), time(), UTC)
    fields = {
        "Contact": contact,
        "Expires": f"{expires:%Y-%m-%dT%H:%M:%SZ}",
        "Preferred-Languages": "en",
        "Canonical": f"{public_url}/.well-known/security.txt",
        "Policy": f"{public_url}/docs/security#report-a-vulnerability",
    }
    return "".join(f"{name}: {value}\r\n" for name, value in fields.items())
