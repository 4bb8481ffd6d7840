"""Webhooks of banks, and the TPP calls that lead to them (specification, Service to bank).

A row of ``RELAYED`` is a read of a PSU's data, a row of ``PAYMENTS`` a payment initiation. Each version (``v1``,
``v2``) declares the webhook of a row: its path, its scope, and the models of the request and the bank's answer. Adding
a call is adding a row here, and its webhook and models to the versions that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.openbanking.protocol.bank_calls import RevokeToken
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.scopes import Scope, Service

CountedUnder = Service | Literal["authorization"]
"""The services that calls are counted under, and the consent steps."""
PAYMENT_SERVICE: CountedUnder = "PISP"
"""The service that payments and their status are counted under."""


class UnusableAnswer(ValueError):
    """An answer of the right form that cannot be used; the message says why."""


class FundsConfirmation(TypedDict):
    """Whether there is as much on the account."""

    funds_available: bool


class Nothing(Message):
    """A request without members."""


class TokenEnded(RevokeToken):
    """``/revoke_token``: the consent behind a token has ended, by the TPP, the operator or the service."""


class Acknowledgement(OpenMessage):
    """An answer with nothing but success."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The answer format of a version's webhooks (specification, Events and Errors).

    Attributes:
        spell: how they may spell the members of an answer, besides snake_case.
        code, text: an error's members for its code and its sentence.
        says_status: whether every answer has ``status``: ``success`` or ``error``.
        unknown_service: the codes of a bank that knows another API key, or another signing key, of the service.
        unknown_token: the codes of a bank that does not accept the PSU's token any more.
        bank_failed: the codes by which a bank says that it failed itself, whatever the HTTP status.
    """

    spell: Callable[[str], str]
    code: str
    text: str
    says_status: bool
    unknown_service: frozenset[str]
    unknown_token: frozenset[str]
    bank_failed: frozenset[str]


def keep_shape(answer: dict[str, Any]) -> dict[str, Any]:
    return answer


def keep_answer(request: Mapping[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    return answer


def no_schemes(request: dict[str, Any]) -> Iterable[tuple[dict[str, Any], str]]:
    return ()


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of one bank version.

    Attributes:
        path: at the bank's own address.
        scope: mandatory in the consent; ``None`` if no scope is needed.
        request: model of the body.
        answer: model that checks the bank's answer, which is passed on.
        expected: the model that the answer to a request is held against, where that depends on the request.
        account_id: of an answer that lists accounts: the member that other calls name as ``account_id``.
        shape: brings the quirks that the specification admits into one shape.
        conclude: makes the TPP's answer of request and answer. Raises: Unusable.
        sends_token: whether ``X-Auth-Token`` goes along.
        part_of: what it is counted under, where no scope is asked for that tells it.
        scheme_places: the parts of a payment request that name a ``payment_scheme``, each with its payments' currency.
        form: how banks answer, where that is not as the version's other webhooks are answered.
    """

    path: str
    scope: Scope | None
    request: type[Message]
    answer: type[OpenMessage]
    shape: Callable[[dict[str, Any]], dict[str, Any]] = keep_shape
    to_tpp_answer: Callable[[Mapping[str, Any], dict[str, Any]], Mapping[str, Any]] = keep_answer
    sends_token: bool = True
    part_of: CountedUnder | None = None
    expected: Callable[[Mapping[str, Any]], type[OpenMessage]] | None = None
    account_id: str | None = None
    scheme_places: Callable[[dict[str, Any]], Iterable[tuple[dict[str, Any], str]]] = no_schemes
    form: AnswerForm | None = None

    def model_of_answer(self, request: Mapping[str, Any]) -> type[OpenMessage]:
        """The model of the answer to ``request``."""
        return self.expected(request) if self.expected else self.answer

    def is_within(self, scopes: Collection[str]) -> bool:
        """Whether ``scopes`` has the scope that it needs."""
        return self.scope is not None and self.scope.name in scopes

    @property
    def service(self) -> CountedUnder:
        """The service that it is counted under. Raises: LookupError, if the row has none."""
        if self.scope is not None:
            return self.scope.service
        if self.part_of is None:
            raise LookupError(f"{self.path} has neither a scope nor what else it is counted under")
        return self.part_of


@dataclass(frozen=True, slots=True)
class RelayedCall:
    """A TPP's call that a bank answers; it is counted under ``service``."""

    name: str
    method: Literal["GET", "POST"]
    path: str
    service: CountedUnder


@dataclass(frozen=True, slots=True)
class PaymentCall:
    """A kind of payment initiation; ``body_bytes`` is its longest body."""

    kind: Kind
    path: str
    body_bytes: int = 65_536


RELAYED: tuple[RelayedCall, ...] = (
    RelayedCall("accounts", "GET", "/tpp/accounts", "AISP"),
    RelayedCall("account", "GET", "/tpp/account", "AISP"),
    RelayedCall("account_balance", "GET", "/tpp/account_balance", "AISP"),
    RelayedCall("account_payments", "GET", "/tpp/account_payments", "AISP"),
    RelayedCall("account_payment", "GET", "/tpp/account_payment", "AISP"),
    RelayedCall("account_transactions", "GET", "/tpp/account_transactions", "AISP"),
    RelayedCall("funds_confirmations", "POST", "/tpp/funds_confirmations", "CBPII"),
)
PAYMENTS: tuple[PaymentCall, ...] = (
    PaymentCall("single", "/tpp/payment_initiation"),
    PaymentCall("bulk", "/tpp/bulk_payment_initiation", body_bytes=4_000_000),
    PaymentCall("direct", "/tpp/direct_payment_initiation"),
)
STATUS_PATH = "/tpp/payment_status"
