"""The envelope of a request, as it is read, and of a response, as text with its log line.

Repeats get the stored bytes except for ``duplicated``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from chalicelib.cards.protocol.card_records import EMPTY_LATER, KEPT_SHORTLY
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import API_VERSION
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.lazy_dataclasses import dataclass

BODY_BYTES = 1_000_000
_REFERENCE = re.compile("[A-Za-z0-9-]{10,255}")
_MEANINGS = {int(status): status.meaning for status in Status}
_FIRST, _REPEAT = '"duplicated":0', '"duplicated":1'


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: the envelope as text, and the seconds of its header ``Retry-After``, if it has one."""

    text: str
    retry_after: int | None = None


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object of a body. Raises: Refused."""
    if len(body) > BODY_BYTES:
        raise Refused(Status.TOO_LARGE)
    try:
        members = jsontext.loads(body)
    except jsontext.InvalidJson as error:
        raise Refused(Status.NOT_JSON, f"the body is not valid JSON: {error}") from None
    if not isinstance(members, dict):
        raise Refused(Status.NOT_JSON)
    return members


def read_reference(members: Mapping[str, Any]) -> str | None:
    """The reference of a request, in the correct version. Raises: Refused."""
    if str(members.get("api_version")) != API_VERSION:
        raise Refused(Status.WRONG_VERSION)
    reference = members.get("request_reference_id")
    if reference is None:
        return None
    if not isinstance(reference, str) or not _REFERENCE.fullmatch(reference):
        raise Refused(
            Status.BAD_REFERENCE, "request_reference_id must have 10 to 255 characters: letters, digits and hyphens"
        )
    return reference


def success(data: Any, beside: Mapping[str, Any]) -> str:
    """A success envelope; ``beside`` are members next to ``data``, which is ``[]`` if there is none."""
    members = "".join(f"{jsontext.dumps(name)}:{jsontext.dumps(value)}," for name, value in beside.items())
    return f'{{"status":"success",{_FIRST},{members}"data":{jsontext.dumps(() if data is None else data)}}}'


def error(refusal: Refused) -> str:
    message = jsontext.dumps(refusal.message)
    return f'{{"status":"error",{_FIRST},"status_code":{int(refusal.status)},"message":{message}}}'


def mark_as_repeat(answer: str) -> str:
    """The stored response, marked as duplicated."""
    return answer.replace(_FIRST, _REPEAT, 1)


def remove_card_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Response data without the card data that is stored only briefly; mandatory members are emptied."""
    found = ((name, EMPTY_LATER.get(name, value)) for name, value in data.items())
    return {name: value for name, value in found if name not in KEPT_SHORTLY or name in EMPTY_LATER}


def remove_expiry(answer: str) -> str:
    """A stored response without the expiry, for a credential whose disclosure modes have changed."""
    members = jsontext.loads(answer)
    if isinstance(members.get("data"), dict):
        members["data"].pop("expiration", None)
    return jsontext.dumps(members)


def log_refusal(refusal: Refused) -> None:
    """Log an error response: its code, its meaning and the fields, but no value of the request."""
    log.info(
        "error response", code=int(refusal.status), title=refusal.status.meaning, fields=list(refusal.fields) or None
    )


def log_repeat(answer: str) -> None:
    """Log the response to a repeat, if it is an error."""
    if (code := jsontext.loads(answer).get("status_code")) is not None:
        log.info("error response", code=code, title=_MEANINGS.get(code))
