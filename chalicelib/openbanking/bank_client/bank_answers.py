"""Parses a bank's response, normalises its known members, and validates it against its model (specification, Errors).

Every failure of a bank becomes a ``BankFailed`` with the bank's own code and message.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any

from chalicelib.foundation import jsontext, log
from chalicelib.foundation.fields.field_types import PROBLEMS, OpenMessage, annotation_parts
from chalicelib.foundation.fields.number_rules import IdRule
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.bank_client.bank_failures import NOT_FOUND, SERVER_ERROR, TOO_MANY_REQUESTS, BankFailed
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import AnswerForm, UnusableAnswer, Webhook

HANDED_ON_BYTES = 5_900_000
"""The maximum size of a response that can be passed on. Lambda returns the response as ASCII text inside JSON."""
_TWICE = "is present in both spellings: snake_case takes precedence"
_NEVER_TOO_LARGE = HANDED_ON_BYTES // 7
"""The size up to which a body needs no check. Escaping twice expands a byte to at most seven bytes."""
_UNDECIDED = (408, 409, 425)
"""HTTP statuses below 500 that leave the outcome unknown: Request Timeout, Conflict, Too Early."""


_CODINGS = frozenset({"gzip", "x-gzip", "deflate", "compress", "br", "zstd"})
_GZIP = b"\x1f\x8b"
Model = type[OpenMessage]
Spelling = Callable[[str], str]
"""A function that converts a snake_case member name to an alternative spelling."""


AnswerReader = Callable[[Version, Webhook, Mapping[str, Any], Reply], Mapping[str, Any]]
"""Validates a bank's response to a request, and converts it for the TPP. Raises: BankFailed."""


def read_answer(version: Version, webhook: Webhook, request: Mapping[str, Any], reply: Reply) -> Mapping[str, Any]:
    """Validate a bank's response against its model and normalise it for the TPP. Raises: BankFailed."""
    return check_size(reply, read_unlimited_answer(version, webhook, request, reply))


def read_unlimited_answer(
    version: Version, webhook: Webhook, request: Mapping[str, Any], reply: Reply
) -> Mapping[str, Any]:
    """Read a response like ``read_answer``, even if it is too large to be passed on. Raises: BankFailed."""
    answer = open_answer(version, webhook, reply)
    _check_model(webhook, request, answer)
    try:
        return webhook.to_tpp_answer(request, answer)
    except UnusableAnswer as error:
        raise BankFailed(str(error), answer=answer) from None


def open_answer(version: Version, webhook: Webhook, reply: Reply) -> dict[str, Any]:
    """Return the normalised members of a bank's success response, not yet validated. Raises: BankFailed."""
    form = webhook.form or version.answers
    if reply.body.startswith(codecs.BOM_UTF8):
        log.warning(
            "malformed bank response", webhook=webhook.path, problems=["the body begins with a byte order mark"]
        )
    return _normalise_answer(webhook, webhook.shape(parse_reply(form, reply, webhook.unknown)), form)


def check_size(reply: Reply, concluded: Mapping[str, Any], *, growth: int = 1, hint: str = "") -> Mapping[str, Any]:
    """Return the response to the TPP, if it can be passed on.

    ``growth`` is how many times larger than the bank's response it can be, and ``hint`` follows the reason.

    Raises:
        BankFailed.
    """
    if len(reply.body) * growth > _NEVER_TOO_LARGE and len(json.dumps(jsontext.dumps(concluded))) > HANDED_ON_BYTES:
        raise BankFailed(f"the bank's response exceeds {HANDED_ON_BYTES} bytes, the most that can be passed on{hint}")
    return concluded


def parse_reply(form: AnswerForm, reply: Reply, unknown: Collection[str] = ()) -> dict[str, Any]:
    """Return the members of a success response, except ``status``. ``unknown`` has the same meaning as in ``Webhook``.
    Raises: BankFailed.
    """
    try:
        answer = jsontext.loads(reply.body)
    except jsontext.InvalidJson as error:
        coding = _content_coding(reply)
        found = f"a body that is {coding} although identity was asked" if coding else f"invalid JSON: {error}"
        raise _unreadable_reply(reply, found) from None
    if not isinstance(answer, dict):
        raise _unreadable_reply(reply, "JSON that is not an object")
    good = 200 <= reply.status < 300
    if not good or (form.says_status and answer.get("status") == "error"):
        raise _bank_error(answer, reply.status, form, unknown)
    if not form.says_status:
        return answer
    if answer.get("status") != "success":
        raise BankFailed("the status in the bank's response is not success")
    return {name: value for name, value in answer.items() if name != "status"}


def _content_coding(reply: Reply) -> str | None:
    """Return the content coding of a response that is compressed although the request accepts only ``identity``."""
    named = reply.header("Content-Encoding") or ""
    if named.lower() in _CODINGS:
        return named.lower()
    return "gzip" if reply.body.startswith(_GZIP) else None


def _unreadable_reply(reply: Reply, what: str) -> BankFailed:
    return BankFailed(f"the bank responded with status {reply.status} and {what}", authorize_again=reply.status == 401)


def _bank_error(answer: dict[str, Any], status: int, form: AnswerForm, unknown: Collection[str] = ()) -> BankFailed:
    """Return the failure for an error response.

    The failure is a refusal if the response has an error code or the status ``error``, unless the HTTP status leaves
    the outcome unknown. ``unknown`` contains the error codes for an unknown account or payment (see ``Webhook``).
    """
    code, text = answer.get(form.code), answer.get(form.text)
    said = "; ".join([str(text) if text else f"the bank responded with status {status}", *_additional_errors(answer)])
    is_error = code is not None or answer.get("status") == "error"
    forms = [version.answers for version in VERSIONS.values()]  # banks may use another version's error codes
    is_no = is_error and status < SERVER_ERROR and status not in _UNDECIDED
    broken = any(str(code) in each.bank_failed for each in forms)
    names_unknown = code is not None and (status == NOT_FOUND or str(code) in unknown)
    return BankFailed(
        f"{code}: {said}" if code else said,
        "refused" if is_no else "unknown",
        authorize_again=any(str(code) in each.unknown_token for each in forms) if code else status == 401,
        quoted=True,
        broken=broken,
        unknown_resource=bool(unknown) and names_unknown and is_no and not broken and status != TOO_MANY_REQUESTS,
    )


def _additional_errors(answer: dict[str, Any]) -> Iterator[str]:
    """Return the additional errors that an error of a version 2 bank contains."""
    more = answer.get("additionalErrors")
    for each in more if isinstance(more, list) else ():
        if isinstance(each, dict):
            yield ": ".join(str(each[name]) for name in ("code", "details") if each.get(name))


def _normalise_answer(webhook: Webhook, answer: dict[str, Any], form: AnswerForm) -> dict[str, Any]:
    """Convert known members to snake_case and identifiers to strings. Log members present in both spellings."""
    repeated: list[str] = []
    found = normalise(webhook.answer, answer, spell=form.spell, repeated=repeated)
    if repeated:
        log.warning(
            "malformed bank response",
            webhook=webhook.path,
            problems=[f"{each} {_TWICE}" for each in repeated[:PROBLEMS]],
        )
    return found


def _check_model(webhook: Webhook, request: Mapping[str, Any], answer: dict[str, Any]) -> None:
    """Check a response against its model. Reject deviations for which ``is_fatal`` is true. Log and accept other
    deviations.
    """
    try:
        (webhook.expected(request) if webhook.expected else webhook.answer).read(answer, most=None)
    except InvalidMessage as error:
        fatal = [problem for problem in error.problems if problem.is_fatal][:PROBLEMS]
        if fatal:
            raise refuse_malformed(webhook, answer, "; ".join(map(str, fatal))) from None
        log.warning("malformed bank response", webhook=webhook.path, problems=list(map(str, error.problems[:PROBLEMS])))


def refuse_malformed(webhook: Webhook, answer: dict[str, Any], faults: str) -> BankFailed:
    """Return the failure for a success response with ``faults``, which may be an error sent with a success status."""
    form = _form_of_error(answer)
    if form is not None:
        return _bank_error(answer, 200, form, webhook.unknown)
    return BankFailed(f"the bank's response is malformed: {faults}", answer=answer)


def is_error(answer: dict[str, Any]) -> bool:
    """Whether a success response has the members of an error."""
    return _form_of_error(answer) is not None


def _form_of_error(answer: dict[str, Any]) -> AnswerForm | None:
    """Return the format of an error that was sent with a success status, or ``None`` if the response is not an error.

    Such errors exist only in versions without the member ``status``.
    """
    forms = (version.answers for version in VERSIONS.values() if not version.answers.says_status)
    return next((form for form in forms if form.code in answer and form.text in answer), None)


@dataclass(frozen=True, slots=True)
class _KnownMember:
    """A member of a model: its name, the rule if the member is an identifier, and the model of nested members."""

    name: str
    rule: IdRule | None
    inner: Model | None


def normalise(model: Model, answer: dict[str, Any], *, spell: Spelling, repeated: list[str]) -> dict[str, Any]:
    """Return a response with the members of ``model`` in snake_case and its identifiers as strings.

    Other content is left unchanged at every depth, including objects whose keys are data.

    Args:
        spell: converts a member name to the bank's alternative spelling.
        repeated: collects the paths of members present in both spellings. The snake_case member takes precedence.
    """
    return _Normaliser(spell, repeated).normalise_object(model, answer, None)


Place = tuple[Any, str | int] | None
"""The path of a member: the parent's path, and the member's name or index. It is formatted only when needed."""


@dataclass(frozen=True, slots=True)
class _Normaliser:
    """Normalises the members of a bank's response according to the response's model, including nested objects and
    lists.
    """

    spell: Spelling
    repeated: list[str]

    def normalise_object(self, model: Model, holder: dict[str, Any], place: Place) -> dict[str, Any]:
        table, found = _members_by_spelling(model, self.spell), {}
        for name, value in holder.items():
            known = table.get(name)
            if known is None:
                found[name] = value
            elif name != known.name and known.name in holder:
                self.repeated.append(_format_place((place, known.name)))
            elif known.rule is not None:
                alone = known.rule.beside is not None and holder.get(known.rule.beside) is None
                found[known.name] = known.rule.text(value, alone=alone)
            elif known.inner is not None:
                found[known.name] = self.normalise_value(known.inner, value, (place, known.name))
            else:
                found[known.name] = value
        return found

    def normalise_value(self, model: Model, value: Any, place: Place) -> Any:
        if isinstance(value, dict):
            return self.normalise_object(model, value, place)
        if not isinstance(value, list):
            return value
        return [self.normalise_value(model, each, (place, index)) for index, each in enumerate(value)]


def _format_place(place: Place) -> str:
    """Format a path, for example ``transactions.booked.0.amount``."""
    parts: list[str] = []
    while place is not None:
        place, part = place
        parts.append(str(part))
    return ".".join(reversed(parts))


@cache
def _members_by_spelling(model: Model, spell: Spelling) -> Mapping[str, _KnownMember]:
    """Return the members of a model, keyed by every accepted spelling of their names."""
    table: dict[str, _KnownMember] = {}
    for name, field in model.model_fields.items():
        parts = [*field.metadata, *annotation_parts(field.annotation)]
        rule = next((part for part in parts if isinstance(part, IdRule)), None)
        inner = next((part for part in parts if isinstance(part, type) and issubclass(part, OpenMessage)), None)
        table |= dict.fromkeys((name, spell(name)), _KnownMember(name, rule, inner))
    return table
