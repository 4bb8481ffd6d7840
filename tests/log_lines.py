"""The lines that a test's calls log."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any


class Lines:
    """What was logged, line by line."""

    def __init__(self, stream: StringIO) -> None:
        self._stream = stream

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    def all(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]
