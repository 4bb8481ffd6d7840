"""A version of the bank protocol: one object with everything that is specific to it.

A version is declared in a module of its own (``v1``, ``v2``) and registered in ``versions``. Other modules use a bank's
version object instead of comparing numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from chalicelib.foundation.fields.field_types import Message
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.payment_statuses import Statuses
from chalicelib.openbanking.protocol.scopes import Scope
from chalicelib.openbanking.protocol.webhooks import AnswerForm, PaymentCall, RelayedCall, Webhook

T = TypeVar("T")
E = TypeVar("E", bound=Mapping[str, object])
"""The type of an error's body."""

BANK_ROOT = "/bank"
"""The address that the bank-facing APIs of all versions are below."""


@dataclass(frozen=True, slots=True)
class ErrorForm(Generic[E]):
    """The error format of a version (specification, Errors).

    Attributes:
        status: the HTTP status of a refusal.
        body: the members of the answer, made of a refusal, the request's id and the time, in Unix seconds.
    """

    status: Callable[[Refusal], int]
    body: Callable[[Refusal, str, int], E]


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One version of the protocol.

    Attributes:
        number: what banks are registered with, and what records name the version by.
        prefix: what the addresses of its bank-facing API have after ``/bank`` (specification, Endpoints).
        spell: how its banks' calls, and the answers to them, spell a member that is in snake_case here.
        signature_required: whether every call of its banks has to be signed (specification, Authentication).
        errors: how its banks' calls are refused (specification, Errors).
        answers: how its banks answer webhooks (specification, Events and Errors).
        scopes: the rights that a PSU can give at its banks, by name and in their order (specification, Scopes).
        schemes: the payment schemes that its banks can offer (specification, Enumerations).
        statuses: how it spells where payments stand (specification, Enumerations).
        status_member: what TPPs read a payment's status under, in answers and events.
        calls: the requests that its banks make, by the name of the call (specification, Bank to service).
        relayed: the webhooks for a TPP's questions, by the name of the call (specification, Service to bank).
        payments: the webhooks that have a bank take a payment.
        payment_status: the webhooks that ask where a payment stands; empty where banks report it and are not asked.
        revoke_token: the webhook that tells a bank of a consent's end.
    """

    number: int
    prefix: str
    spell: Callable[[str], str]
    signature_required: bool
    errors: ErrorForm[Any]
    answers: AnswerForm
    scopes: Mapping[str, Scope]
    schemes: tuple[str, ...]
    statuses: Statuses
    status_member: str
    calls: Mapping[str, type[Message]]
    relayed: Mapping[str, Webhook]
    payments: Mapping[Kind, Webhook]
    payment_status: Mapping[Kind, Webhook]
    revoke_token: Webhook

    def __str__(self) -> str:
        return str(self.number)

    @property
    def base(self) -> str:
        """The address of its bank-facing API: ``/bank/v2``."""
        return f"{BANK_ROOT}{self.prefix}"

    @property
    def cancel_path(self) -> str:
        """The cancel address of a PSU who gives no consent."""
        return f"{self.base}/cancel/{{secret}}"

    @property
    def answers_status_queries(self) -> bool:
        """Whether its banks are asked for a payment's status; otherwise their reports count."""
        return bool(self.payment_status)

    @property
    def reports_performance(self) -> bool:
        """Whether its banks send daily performance reports (specification, daily_performance)."""
        return "report_day" in self.calls

    @property
    def webhooks(self) -> tuple[Webhook, ...]:
        """Every webhook that its banks answer."""
        asked = dict.fromkeys(self.payment_status.values())
        return (*self.relayed.values(), *self.payments.values(), *asked, self.revoke_token)

    def webhook(self, call: RelayedCall | PaymentCall) -> Webhook | None:
        """The webhook behind a TPP's call; ``None`` when its banks do not have it."""
        return self.relayed.get(call.name) if isinstance(call, RelayedCall) else self.payments.get(call.kind)

    def in_spelling(self, members: Mapping[str, T]) -> dict[str, T]:
        """Snake_case members in the spelling of its banks' calls."""
        return {self.spell(name): value for name, value in members.items()}


def by_name(*scopes: Scope) -> dict[str, Scope]:
    """Scopes as a version declares them."""
    return {scope.name: scope for scope in scopes}
