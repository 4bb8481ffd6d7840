"""Masks secrets in all output of the kit: API key, tokens, codes, signatures, private key."""

from __future__ import annotations

import json
from bisect import bisect_left
from urllib.parse import quote, quote_plus

MASK = "***"
_SHORTEST = 8
"""Minimum length of a masked text in characters. A shorter text may occur in the output by chance."""


class Masking:
    """The secrets of a run, which are masked in all texts of the output."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()
        self._spellings: set[str] = set()
        self._longest_first: list[str] = []

    def add(self, *secrets: str) -> None:
        """Mask ``secrets`` in all later output, in plain text, in JSON and in URLs."""
        for secret in secrets:
            if len(secret) >= _SHORTEST and secret not in self._secrets:
                spellings = (secret, json.dumps(secret)[1:-1], quote(secret, safe=""), quote_plus(secret))
                self._spellings.update(spellings)
                self._secrets.add(secret)

    def add_pem(self, pem: str) -> None:
        """Mask every line of a key."""
        self.add(*(line for line in pem.splitlines() if not line.startswith("-----")))

    def mask(self, text: str) -> str:
        """Return ``text`` with every secret replaced by ``***``."""
        if len(self._longest_first) != len(self._spellings):  # threads of the hub add some meanwhile
            self._longest_first = sorted(self._spellings, key=len, reverse=True)
        first = bisect_left(self._longest_first, -len(text), key=lambda spelling: -len(spelling))
        for spelling in self._longest_first[first:]:
            text = text.replace(spelling, MASK)
        return text
