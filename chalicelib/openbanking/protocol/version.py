"""A version of the bank protocol: a single object with everything specific to it.

Each version has its own module (``v1_version``, ``v2_version``) and is registered in ``versions``. Other modules use a
bank's version object instead of comparing version numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.payment_statuses import Statuses
from chalicelib.openbanking.protocol.scopes import Scope
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED, AnswerForm, PaymentCall, RelayedCall, Webhook

T = TypeVar("T")
Errors = Callable[[Refusal, str, int], tuple[int, Mapping[str, Any]]]
"""A function that formats an error. It takes a refusal, the request id and the time (Unix seconds), and returns the
HTTP status and the response members.
"""

BANK_ROOT = "/bank"
"""The base path of the bank-facing APIs of all versions."""


@dataclass(frozen=True, slots=True, eq=False)
class Webhooks:
    """The webhooks of a version's banks (specification, Service to bank).

    Attributes:
        relayed: the webhooks for TPPs' data requests, by call name.
        payments: the webhooks that initiate a payment.
        payment_status: the webhooks that query a payment's status; empty if banks report it instead.
    """

    relayed: Mapping[str, Webhook]
    payments: Mapping[Kind, Webhook]
    payment_status: Mapping[Kind, Webhook]


@dataclass(frozen=True, eq=False)
class Version:
    """A version of the bank protocol.

    Attributes:
        number: the version number in bank registrations and records.
        prefix: the path of the version's bank-facing API, relative to ``/bank`` (specification, Endpoints).
        spell: converts a snake_case member to the spelling used in banks' calls and the responses to them.
        signature_required: whether banks must sign every call (specification, Authentication).
        errors: the format of error responses to banks (specification, Errors).
        answers: the format of banks' webhook responses (specification, Events and Errors).
        scopes: the scopes that PSUs can grant, by name, in order (specification, Scopes).
        schemes: the payment schemes that banks can offer (specification, Enumerations).
        statuses: the version's payment statuses (specification, Enumerations).
        status_member: the member with a payment's status in responses and events to TPPs.
        calls: the request models of banks' calls, by call name (specification, Bank to service).
        load_webhooks: returns the webhooks of the version's banks. They have many messages, so they are loaded on first
            use.
        revoke_token: the webhook that notifies a bank of a consent's end.
        switches: the switches of a bank's record that have an effect only at its banks.
    """

    number: int
    prefix: str
    spell: Callable[[str], str]
    signature_required: bool
    errors: Errors
    answers: AnswerForm
    scopes: Mapping[str, Scope]
    schemes: tuple[str, ...]
    statuses: Statuses
    status_member: str
    calls: Mapping[str, type[Message]]
    load_webhooks: Callable[[], Webhooks]
    revoke_token: Webhook
    switches: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return str(self.number)

    @property
    def base(self) -> str:
        """The base path of the bank-facing API, e.g. ``/bank/v2``."""
        return f"{BANK_ROOT}{self.prefix}"

    @property
    def cancel_path(self) -> str:
        """The path template of the cancel URL, for a PSU who gives no consent."""
        return f"{self.base}/cancel/{{secret}}"

    @cached_property
    def relayed(self) -> Mapping[str, Webhook]:
        """The webhooks for TPPs' data requests, by call name."""
        return self.load_webhooks().relayed

    @cached_property
    def payments(self) -> Mapping[Kind, Webhook]:
        """The webhooks that initiate a payment."""
        return self.load_webhooks().payments

    @cached_property
    def payment_status(self) -> Mapping[Kind, Webhook]:
        """The webhooks that query a payment's status; empty if banks report it instead."""
        return self.load_webhooks().payment_status

    @property
    def answers_status_queries(self) -> bool:
        """Whether the bank is queried for a payment's status; otherwise the status is taken from the bank's reports."""
        return bool(self.payment_status)

    @property
    def reports_performance(self) -> bool:
        """Whether the version's banks send daily performance reports (specification, daily_performance)."""
        return "report_day" in self.calls

    @property
    def webhooks(self) -> tuple[Webhook, ...]:
        """All webhooks of the version."""
        asked = dict.fromkeys(self.payment_status.values())
        return (*self.relayed.values(), *self.payments.values(), *asked, self.revoke_token)

    @cached_property
    def webhook_by_call(self) -> Mapping[RelayedCall | PaymentCall, Webhook]:
        """The webhooks for TPPs' calls, by call. Calls that the version does not support are missing."""
        reads = {call: self.relayed[call.name] for call in RELAYED if call.name in self.relayed}
        return reads | {call: self.payments[call.kind] for call in PAYMENTS if call.kind in self.payments}

    def in_spelling(self, members: Mapping[str, T]) -> dict[str, T]:
        """Convert the snake_case member names of a message to the spelling of the banks' calls. The members of objects
        in lists are also converted.
        """
        return {self.spell(name): self._spell_inside(value) for name, value in members.items()}

    def _spell_inside(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.in_spelling(each) if isinstance(each, dict) else each for each in value]
        return value


def by_name(*scopes: Scope) -> dict[str, Scope]:
    """Index scopes by name."""
    return {scope.name: scope for scope in scopes}
