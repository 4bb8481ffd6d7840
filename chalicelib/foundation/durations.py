"""Durations in two notations, which commands and calls accept: ``61m``, and ISO 8601 (``PT61M``)."""

from __future__ import annotations

import re

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SHORT = re.compile(r"([0-9]{1,9})([smhdw])")
_ISO_8601 = re.compile(
    r"P(?=[0-9T])(?:(?P<w>[0-9]{1,4})W|(?:(?P<d>[0-9]{1,4})D)?"
    r"(?:T(?=[0-9])(?:(?P<h>[0-9]{1,5})H)?(?:(?P<m>[0-9]{1,7})M)?(?:(?P<s>[0-9]{1,9})S)?)?)"
)
"""An ISO 8601 duration: either weeks, or days, hours, minutes and seconds. Months and years are excluded, because their
length varies.
"""
NOTATIONS = "90s, 30m, 12h, 7d or 2w, or a duration of ISO 8601 such as PT61M"


class InvalidDuration(ValueError):
    """The text is not a duration. The message lists the accepted notations, and does not quote the text."""


def read_duration(text: str) -> int:
    """Parse a duration, for example ``61m`` or ``PT61M``, and return the seconds. Raises: InvalidDuration."""
    if short := _SHORT.fullmatch(text):
        return int(short[1]) * _SECONDS[short[2]]
    if iso := _ISO_8601.fullmatch(text):
        return sum(int(count) * _SECONDS[unit] for unit, count in iso.groupdict().items() if count)
    raise InvalidDuration(f"not a duration: use {NOTATIONS}")
