"""Example conformance reports as the kit writes them."""

import json
from typing import Any

from chalicelib.foundation import jsontext

STARTED_AT = "2026-02-27T10:00:00+00:00"


def check(check_id: str = "accounts.answer-form", outcome: str = "passed", **members: Any) -> dict[str, Any]:
    described = {
        "id": check_id,
        "title": f"/accounts: the rule of {check_id}",
        "paragraph": "Bank integration, Signatures",
        "level": "mandatory",
        "outcome": outcome,
        "problem": "",
        "sent": "POST /accounts\nX-Api-Key: ***\n\n{}",
        "received": "200 after 12 ms\n\n{}",
        "expected": "The response has the members of the table",
    }
    return described | members


def failed(check_id: str = "accounts.signature-wrong", **members: Any) -> dict[str, Any]:
    problem = "the bank accepted a wrong signature"
    received = f"{problem}\n\n200 after 12 ms\n\n" + '{"accounts": []}'
    return check(check_id, "failed", **{"problem": problem, "received": received, **members})


def report(*checks: dict[str, Any], **members: Any) -> dict[str, Any]:
    made = list(checks) or [check()]
    fails = any(each["outcome"] == "failed" and each["level"] == "mandatory" for each in made)
    described = {
        "bank": "ALPHGB21",
        "version": 1,
        "started_at": STARTED_AT,
        "result": "fails" if fails else "conforms",
        "verdict": "ALPHGB21 conforms to version 1: no mandatory check failed",
        "narrowed": "",
        "checks": made,
    }
    return described | members


def written(described: Any) -> bytes:
    return json.dumps(described, indent=2).encode()


def parsed(content: bytes) -> Any:
    return jsontext.loads(content)
