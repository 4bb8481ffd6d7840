"""Parses a bank's responses strictly, with the same models and formats as the hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.foundation import jsontext
from chalicelib.foundation.fields.field_types import PROBLEMS
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.http.outbound import Reply
from chalicelib.openbanking.bank_client.bank_answers import normalise
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import AnswerForm, UnusableAnswer, Webhook

PAYMENT_BYTES = 300_000
"""The maximum size of a bank's response to a payment, in bytes (bank integration, Answers)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed success response.

    Attributes:
        members: the members in snake case; empty if the response cannot be parsed.
        faults: the reasons why the response is unusable.
        deviations: faults that the hub logs and accepts, in lengths, characters, optional members or duplicate
        notations.
    """

    members: Mapping[str, Any]
    faults: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()


def form_of(version: Version, webhook: Webhook) -> AnswerForm:
    """Return the response format of a webhook."""
    return webhook.form or version.answers


def read_object(reply: Reply) -> dict[str, Any] | None:
    """Parse a response's JSON object; ``None`` for any other body."""
    try:
        found = jsontext.loads(reply.body)
    except jsontext.InvalidJson:
        return None
    return found if isinstance(found, dict) else None


def is_refusal(version: Version, webhook: Webhook, reply: Reply) -> bool:
    """Return whether the hub treats a response as an error, by its status or by error members in a success response."""
    if not 200 <= reply.status < 300:
        return True
    found = read_object(reply) or {}
    return any(_says_error(form, found) for form in error_forms(version, webhook))


def error_forms(version: Version, webhook: Webhook) -> list[AnswerForm]:
    """Return the permitted error formats: the format of the version and, if different, the format of the webhook."""
    return list(dict.fromkeys([form_of(version, webhook), version.answers]))


def _says_error(form: AnswerForm, found: Mapping[str, Any]) -> bool:
    return found.get("status") == "error" if form.says_status else {form.code, form.text} <= found.keys()


def read(version: Version, webhook: Webhook, request: Mapping[str, Any], reply: Reply) -> Reading:
    """Read a success response to ``request``."""
    form, found = form_of(version, webhook), read_object(reply)
    if found is None:
        return Reading({}, ("the body must be a JSON object, without repeated members",))
    if is_refusal(version, webhook, reply):
        return Reading({}, ("this is an error, but the request is good",))
    if form.says_status and found.get("status") != "success":
        return Reading({}, ("status must be success",))
    members = {name: value for name, value in found.items() if name != "status" or not form.says_status}
    repeated: list[str] = []
    members = normalise(webhook.answer, webhook.shape(members), spell=form.spell, repeated=repeated)
    faults, deviations = _problems(webhook, request, members)
    twice = [f"{place} is present in both spellings" for place in repeated]
    faults = faults or list(_unusable(webhook, request, members))
    return Reading(members, tuple(faults), (*deviations, *twice))


def _problems(webhook: Webhook, request: Mapping[str, Any], members: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the differences between a response and its model, as faults and deviations."""
    try:
        (webhook.expected(request) if webhook.expected else webhook.answer).read(members, most=None)
    except InvalidMessage as error:
        fatal = [str(problem) for problem in error.problems if problem.is_fatal]
        others = [str(problem) for problem in error.problems if not problem.is_fatal]
        return fatal[:PROBLEMS], others[:PROBLEMS]
    return [], []


def _unusable(webhook: Webhook, request: Mapping[str, Any], members: dict[str, Any]) -> list[str]:
    try:
        webhook.to_tpp_answer(request, members)
    except UnusableAnswer as error:
        return [str(error)]
    return []
