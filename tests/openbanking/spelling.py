"""How the two versions spell what tests ask of both, and where each has the code of an error."""

from __future__ import annotations

from typing import Any

from tests.causeway import Answer

TOKEN = {1: "access_token", 2: "accessToken"}
TOKENS = {1: "access_tokens", 2: "accessTokens"}
CONSENT_IDS = {1: "consent_ids", 2: "consentIds"}
URL = {1: "request_url", 2: "requestUrl"}


def code_of(answer: Answer, version: int) -> tuple[int, Any]:
    """The HTTP status and the code; of version 2, the additional error's where there is one."""
    if version == 1:
        assert set(answer.body) == {"error_code", "message"}
        return answer.status, answer.body["error_code"]
    assert set(answer.body) - {"additionalErrors"} == {"code", "title", "timestamp", "requestId"}
    assert len(answer.body["timestamp"]) == 25
    additional = answer.body.get("additionalErrors")
    return answer.status, additional[0]["code"] if additional else answer.body["code"]
