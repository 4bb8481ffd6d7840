"""Banks' webhooks, and the TPP calls that trigger them (specification, Service to bank).

``RELAYED`` lists requests for PSU data, ``PAYMENTS`` payment initiations. Each version (``v1_version``, ``v2_version``)
declares its webhook for a row: path, scope, and the models of the request and the bank's response. To add a call, add a
row here, and its webhook and models to the versions that support it.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Literal, TypedDict

from chalicelib.foundation.fields.message import Message, OpenMessage
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.bank_calls import RevokeToken
from chalicelib.openbanking.protocol.fields import AN
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.scopes import Scope, Service

CountedUnder = Service | Literal["authorization"]
"""The categories under which calls are counted: services, and authorization steps."""
PAYMENT_SERVICE: CountedUnder = "PISP"
"""The service under which payments and status queries are counted."""


class UnusableAnswer(ValueError):
    """A well-formed response that cannot be used; the message gives the reason."""


class FundsConfirmation(TypedDict):
    """Whether the account covers the amount."""

    funds_available: bool
    """Whether the account has sufficient funds."""


class Nothing(Message):
    """A request without members."""


class TokenEnded(RevokeToken):
    """``/revoke_token``: the TPP, the operator or the service has ended the consent of a token."""

    access_token: AN[512]
    """The token of the consent that has ended, as issued to the bank and as in X-Auth-Token."""


class Acknowledgement(OpenMessage):
    """A success response without further members."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The response format of a version's webhooks (specification, Events and Errors).

    Attributes:
        spell: converts a snake_case member to the alternative spelling accepted in responses.
        code, text: the members of an error that contain its code and its message.
        says_status: whether every response has ``status``, which is ``success`` or ``error``.
        unknown_service: error codes of a bank that rejects the service's API key or signing key.
        unknown_token: error codes of a bank that no longer accepts the PSU's token.
        bank_failed: error codes that indicate a failure of the bank itself, whatever the HTTP status.
    """

    spell: Callable[[str], str]
    code: str
    text: str
    says_status: bool
    unknown_service: frozenset[str]
    unknown_token: frozenset[str]
    bank_failed: frozenset[str]


@dataclass(frozen=True)
class Webhook:
    """A webhook in one version of the bank protocol.

    Attributes:
        path: relative to the bank's domain.
        scope: the scope required in the consent; ``None`` if none is required.
        request: the model of the body.
        answer: the model for validating the bank's response.
        expected: selects the response model if it depends on the request.
        account_id: in a response that lists accounts, the member that other calls use as ``account_id``.
        shape: normalises the variants that the specification allows.
        to_tpp_answer: builds the TPP's response from request and response. Raises: UnusableAnswer.
        sends_token: whether ``X-Auth-Token`` is sent.
        part_of: the category under which calls are counted, if there is no scope.
        scheme_places: the parts of a payment request that have a ``payment_scheme``, each with its currency.
        form: the response format, if it differs from the version's.
        is_later_page: whether a request continues a list whose first page was read before.
        unknown: error codes with which the bank says that it does not know the account or payment that the request
            names, as it does by any code with HTTP status 404; empty if the request names none.
    """

    path: str
    scope: Scope | None
    request: type[Message]
    answer: type[OpenMessage]
    shape: Callable[[dict[str, Any]], dict[str, Any]] = lambda answer: answer
    to_tpp_answer: Callable[[Mapping[str, Any], dict[str, Any]], Mapping[str, Any]] = lambda _, answer: answer
    sends_token: bool = True
    part_of: CountedUnder | None = None
    expected: Callable[[Mapping[str, Any]], type[OpenMessage]] | None = None
    account_id: str | None = None
    scheme_places: Callable[[dict[str, Any]], Iterable[tuple[dict[str, Any], str]]] = lambda _: ()
    form: AnswerForm | None = None
    is_later_page: Callable[[Mapping[str, Any]], bool] = lambda _: False
    unknown: frozenset[str] = frozenset()

    @cached_property
    def scope_name(self) -> str | None:
        """The name of the required scope; ``None``, which no consent has, if none is required."""
        return self.scope.name if self.scope else None

    @cached_property
    def service(self) -> CountedUnder:
        """The category under which calls are counted. Raises: LookupError, if there is none."""
        if self.scope is not None:
            return self.scope.service
        if self.part_of is None:
            raise LookupError(f"{self.path} has neither a scope nor another category to be counted under")
        return self.part_of


@dataclass(frozen=True)
class RelayedCall:
    """A TPP's call that is passed to the bank; counted under ``service``."""

    name: str
    method: Literal["GET", "POST"]
    path: str
    service: CountedUnder

    @cached_property
    def reads_accounts(self) -> bool:
        """Whether it reads account information, which a TPP may do without the PSU (RTS on SCA, Article 36(5))."""
        return self.service == "AISP"


@dataclass(frozen=True, slots=True)
class PaymentCall:
    """A kind of payment initiation; ``body_bytes`` is the maximum body size."""

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
NEEDING_TOKEN = frozenset(
    {"/tpp/consent", "/tpp/requests/{request_id}", STATUS_PATH}
    | {call.path for call in RELAYED}
    | {call.path for call in PAYMENTS if call.kind != "direct"}
)
"""The paths of calls that need an access token; a payment's status needs none after a direct payment."""
