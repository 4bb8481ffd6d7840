"""The operator of a stack on one machine, in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.causeway import Answer, Causeway

PLACE = "/sandbox/clock"
OPERATOR_KEY = "the-operators-key"


@dataclass(frozen=True)
class Operator:
    """Moves the clock of ``causeway``."""

    causeway: Causeway

    def ask(self, body: object, key: str | None = OPERATOR_KEY, content_type: str = "application/json") -> Answer:
        """``POST /sandbox/clock`` with a body, which may be text."""
        sent = body if isinstance(body, str) else json.dumps(body)
        headers = {"content-type": content_type} | ({"authorization": f"Bearer {key}"} if key is not None else {})
        return self.causeway.call("POST", PLACE, sent.encode(), headers)

    def move(self, duration: str) -> Any:
        """The body of the response to a move that succeeds."""
        answer = self.ask({"advance": duration})
        assert answer.status == 200, answer.text
        return answer.body

    @property
    def time(self) -> Any:
        """Business time as anybody reads it."""
        answer = self.causeway.call("GET", PLACE)
        assert answer.status == 200, answer.text
        return answer.body
