"""The log line of an error response. It has the code, its meaning and the fields, but no value of the request."""

from __future__ import annotations

from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.foundation import jsontext, log

_MEANINGS = {int(status): status.meaning for status in Status}


def log_refusal(refusal: Refused) -> None:
    """Log an error response to a request."""
    log.info(
        "error response", code=int(refusal.status), title=refusal.status.meaning, fields=list(refusal.fields) or None
    )


def log_repeat(answer: str) -> None:
    """Log the response to a repeat, if it is an error."""
    if (code := jsontext.loads(answer).get("status_code")) is not None:
        log.info("error response", code=code, title=_MEANINGS.get(code))
