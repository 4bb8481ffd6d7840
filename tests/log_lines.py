"""The lines that a test's calls log."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any


class Lines:
    """What was logged, line by line."""

    def __init__(self, stream: StringIO) -> None:
        self._stream = stream
        self._read = 0
        self._lines: list[dict[str, Any]] = []

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    def all(self) -> list[dict[str, Any]]:
        text = self.text
        self._lines += [json.loads(line) for line in text[self._read :].splitlines()]
        self._read = len(text)
        return self._lines.copy()
