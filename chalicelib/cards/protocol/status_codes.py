"""The ``status_code`` values of errors, and the exception for refused requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from chalicelib.foundation.fields.problems import Kind, Problem, loggable_problems


class Status(IntEnum):
    """Status codes. ``meaning`` is the default message and appears in the documentation."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Status:
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    NOT_JSON = 1001, "the body is not a JSON object"
    UNKNOWN_ACTION = 1002, "action is missing or unknown"
    WRONG_VERSION = 1003, "api_version is not 1.2"
    BAD_REFERENCE = 1004, "request_reference_id is malformed"
    TOO_LARGE = 1005, "the body is over 1 MB"

    WRONG_CREDENTIALS = 1101, "the credentials are wrong"
    LEVEL_TOO_HIGH = 1102, "access_level is higher than the credential's"
    NOT_ALLOWED = 1103, "the credential does not allow this"

    FIELD_MISSING = 2001, "a mandatory field is missing"
    FIELD_TYPE = 2002, "a field has the wrong type"
    FIELD_LENGTH = 2003, "a field has the wrong length"
    FIELD_CHARACTERS = 2004, "a field has characters that are not allowed"
    FIELD_VALUE = 2005, "a field has a value that is not allowed"
    FIELD_REQUIRED = 2006, "a field required by another field is missing"
    FIELD_EXCLUDED = 2007, "a field must not be combined with another field"
    FIELD_UNKNOWN = 2008, "a field is unknown"

    NO_ACCOUNT = 3001, "there is no such account"
    NO_CARD = 3002, "there is no such card"
    NO_HOLDER = 3003, "there is no such holder"
    NO_PROGRAMME = 3004, "there is no such programme"
    NO_LIMIT_GROUP = 3005, "there is no such limit group"
    NO_FEE_GROUP = 3006, "there is no such fee group"
    NO_USAGE_GROUP = 3007, "there is no such usage group"
    NO_RISK_GROUP = 3008, "there is no such risk group"
    NO_CARD_DESIGN = 3009, "there is no such card design"
    NO_EXTERNAL_ADDRESS = 3010, "there is no such external payment address"
    NO_EXTERNAL_TRANSACTION = 3011, "there is no such external payment transaction or mandate"
    NO_TRANSACTION = 3012, "there is no such transaction"
    NO_SPECIAL_ACCOUNT = 3013, "there is no such special account"
    NO_AUTHENTICATION = 3014, "there is no such authentication request"
    NO_PRODUCT = 3015, "there is no such product"

    NOT_ACTIVATED = 4001, "the card is not activated"
    FINAL = 4002, "the state is final"
    ACCOUNT_STATUS = 4003, "the account's status does not allow this"
    ALREADY_RETURNED = 4004, "the payment has already been returned"
    ALREADY_CANCELLED = 4005, "the mandate has already been cancelled"
    ALREADY_ACTIVE = 4006, "the card is already active"
    PIN_NOT_BLOCKED = 4007, "the PIN is not blocked"
    WRONG_STATE = 4008, "this is not allowed in the current state"

    NO_FUNDS = 5001, "there are insufficient funds"
    LIMIT_EXCEEDED = 5002, "a limit is exceeded"
    CURRENCY_NOT_SUPPORTED = 5003, "the currency is not supported here"
    MORE_THAN_ORIGINAL = 5004, "the amount is higher than the original amount"

    CARD_DATA_DIFFERS = 6001, "the card data does not match"
    PIN_TOO_SIMPLE = 6002, "the PIN is too simple: it must not be a sequence or repeat a single digit"
    PIN_BLOCKED = 6003, "the PIN is blocked"
    VALIDATION_DIFFERS = 6004, "the validation value does not match"

    PROVIDER_REFUSED = 7001, "the provider refused"

    IN_PROGRESS = 8001, "the original request is still in progress: repeat this one in a moment"
    REFERENCE_REUSED = 8002, "request_reference_id has already been used with a different body"
    CONFLICT = 8003, "the request conflicted with other requests: try again"
    TOO_MANY_ATTEMPTS = 8004, "there were too many attempts, or too many calls"

    INTERNAL = 9001, "the service failed: it is safe to repeat the request with the same request_reference_id"

    @property
    def is_stored(self) -> bool:
        """Whether a duplicate request gets the same error. True for errors caused by stored data, and false for errors
        in the request.
        """
        return 3000 <= self < 8000


OF_KIND: dict[Kind, Status] = {
    "missing": Status.FIELD_MISSING,
    "type": Status.FIELD_TYPE,
    "length": Status.FIELD_LENGTH,
    "characters": Status.FIELD_CHARACTERS,
    "value": Status.FIELD_VALUE,
    "date": Status.FIELD_VALUE,
    "required": Status.FIELD_REQUIRED,
    "excluded": Status.FIELD_EXCLUDED,
    "unknown": Status.FIELD_UNKNOWN,
}
_LONGEST = 10_000


class Refused(Exception):
    """The request is refused with an error response.

    Attributes:
        status: the status code.
        message: a sentence for the caller. The message can contain field names, but no values except the name of an
            unknown action.
        retry_after: seconds after which the same request may succeed, for the header ``Retry-After``.
        fields: the names of the invalid fields, for the log.
    """

    fields: Sequence[str] = ()

    def __init__(self, status: Status, message: str = "", *, retry_after: int | None = None) -> None:
        self.status = status
        self.message = message or status.meaning
        self.retry_after = retry_after
        super().__init__(f"{status.name}: {self.message}")


def require_permitted(status: Status | None) -> None:
    """Check a status from a state table. ``None`` means that the action is allowed. Raises: Refused, with this
    status.
    """
    if status is not None:
        raise Refused(status)


def refused_fields(problems: Sequence[Problem]) -> Refused:
    """Build an error that lists every invalid field. The first problem determines the status code."""
    texts: list[str] = []
    left = _LONGEST
    for problem in problems:
        left -= len(str(problem)) + 2
        if left < 0:
            texts.append("and others")
            break
        texts.append(str(problem))
    refused = Refused(OF_KIND[problems[0].kind], "; ".join(texts))
    refused.fields = [problem.field for problem in loggable_problems(problems)]
    return refused


def refused_field(field: str, kind: Kind, reason: str) -> Refused:
    """Build an error for a field that conflicts with the stored record or the programme."""
    return refused_fields([Problem(field, kind, reason)])


LONGEST = 50
"""The maximum length, in characters, of a quoted unknown action name."""


def unknown_action(name: str, here: Iterable[str], elsewhere: Mapping[str, str]) -> str:
    """Build the message for an unknown action ``name``. ``here`` are the known actions of the requested URL.

    ``elsewhere`` maps actions of other URLs to a hint that contains the correct URL.
    """
    said = f'there is no action "{_replace_unprintable(name[:LONGEST])}"'
    if name in elsewhere:
        return f"{said} here: {elsewhere[name]}"
    nearest = _find_nearest(name[:LONGEST], [*here, *elsewhere])
    if nearest is None:
        return said
    place = f": {elsewhere[nearest]}" if nearest in elsewhere else ""
    return f"{said}; the closest match is {nearest}{place}"


def _replace_unprintable(text: str) -> str:
    return "".join(character if " " <= character <= "~" else "?" for character in text)


def _find_nearest(name: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches  # rarely needed

    names = {each.lower(): each for each in known}
    return next((names[found] for found in get_close_matches(name.lower(), names, n=1)), None)
