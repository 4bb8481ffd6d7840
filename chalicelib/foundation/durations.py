"""Durations in the two notations of commands and calls: ``61m``, and ISO 8601 (``PT61M``)."""

from __future__ import annotations

import re

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SHORT = re.compile(r"([0-9]{1,9})([smhdw])")
_ISO_8601 = re.compile(
    r"P(?=[0-9T])(?:(?P<w>[0-9]{1,4})W|(?:(?P<d>[0-9]{1,4})D)?"
    r"(?:T(?=[0-9])(?:(?P<h>[0-9]{1,5})H)?(?:(?P<m>[0-9]{1,7})M)?(?:(?P<s>[0-9]{1,9})S)?)?)"
)
"""Weeks; or days, hours, minutes and seconds. Months and years have no fixed length."""
NOTATIONS = "90s, 30m, 12h, 7d or 2w, or a duration of ISO 8601 such as PT61M"


class InvalidDuration(ValueError):
    """The text is not a duration. The message contains the notations without quoting the text."""


def read_duration(text: str) -> int:
    """Parse a duration in either notation to seconds. Raises: InvalidDuration."""
    if short := _SHORT.fullmatch(text):
        return int(short[1]) * _SECONDS[short[2]]
    if iso := _ISO_8601.fullmatch(text):
        return sum(int(count) * _SECONDS[unit] for unit, count in iso.groupdict().items() if count)
    raise InvalidDuration(f"not a duration: use {NOTATIONS}")
