"""Payment orders and the requests that send them to the bank (specification, Payment flow)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.bank_client.bank_client import BankAnswer
from chalicelib.openbanking.flows.consent.permissions import check_accounts
from chalicelib.openbanking.flows.tpp_authentication import Caller
from chalicelib.openbanking.oauth.tpp_request import read_fields
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.payment_enumerations import SWIFT, possible_schemes, scheme
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import PaymentCall, Webhook
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.consents import Consent
from chalicelib.openbanking.records.order_answers import OrderClaim
from chalicelib.openbanking.records.orders import Order
from chalicelib.openbanking.unified.calls import UnifiedPaymentCall

if TYPE_CHECKING:
    from chalicelib.openbanking.unified.answers import UnifiedInitiation


@dataclass(frozen=True, slots=True)
class PaymentOrder:
    """A permitted payment order. ``caller`` is ``None`` without a bearer token, and ``claim`` is ``None`` without an
    Idempotency-Key.

    ``record`` claims the X-Request-Id and records the outcome. ``attempt`` identifies the claims of this attempt.
    """

    call: PaymentCall
    client: Client
    caller: Caller | None
    bank: Bank
    version: Version
    webhook: Webhook
    claim: OrderClaim | None
    record: Order
    attempt: str

    @property
    def consent(self) -> Consent | None:
        return self.caller.consent if self.caller else None

    @property
    def one_time_caller(self) -> Caller | None:
        """Return the caller if this order uses a one-time consent, otherwise ``None``."""
        return self.caller if self.caller and self.caller.consent.consent_type == "one_time" else None


def build_bank_request(order: PaymentOrder, members: object) -> dict[str, Any]:
    """Build the validated body of the request to the bank for a native call, with default payment schemes.

    Raises:
        Refusal.
    """
    check_swift(order, members.get("payment_scheme") if isinstance(members, dict) else None)
    request = read_fields(order.webhook.request, members).model_dump(exclude_none=True)
    check_callback_url(order, request["callback_url"])
    fill_in_schemes(order, request)
    if order.consent is not None:
        check_accounts(order.consent, request)
    return request


def check_swift(order: PaymentOrder, scheme_name: object) -> None:
    """Refuse the scheme SWIFT if no bank of the version offers it for this kind of payment. Raises: Refusal."""
    if scheme_name == SWIFT and not allows_swift(order):
        raise refusals.SWIFT_NOT_POSSIBLE(member=order.call.scheme_member)


def allows_swift(order: PaymentOrder) -> bool:
    """Whether banks of the version can offer the scheme SWIFT for this kind of payment."""
    return SWIFT in possible_schemes(order.version.schemes, order.call.kind, order.version.schemes)


def check_callback_url(order: PaymentOrder, callback_url: str) -> None:
    """Refuse a ``callback_url`` that is not one of the client's. Raises: Refusal."""
    if _origin(callback_url) not in map(_origin, order.client.callback_urls):
        raise refusals.CALLBACK_URL_FOREIGN()


def answer_order(order: PaymentOrder, answer: BankAnswer) -> BankAnswer:
    """Return the bank's response to an order in the form of the TPP's call."""
    if not isinstance(order.call, UnifiedPaymentCall):
        return answer
    native, statuses = answer.body.get("status"), order.version.statuses
    body: UnifiedInitiation = {
        "payment_id": answer.body["payment_id"],
        "confirmation_url": answer.body["confirmation_url"],
        "status": statuses.unify(statuses.first_status(native)),
        "native_status": native,
    }
    return replace(answer, body=body)


def fill_in_schemes(order: PaymentOrder, request: dict[str, Any]) -> None:
    """Set the scheme of each payment to the requested scheme, or to the default scheme of the currency.

    Raises: Refusal, if the bank does not offer the scheme.
    """
    possible = possible_schemes(order.version.schemes, order.call.kind, order.bank.schemes)
    for part, currency in order.webhook.scheme_places(request):
        part["payment_scheme"] = scheme(part.get("payment_scheme"), currency, possible, order.call.scheme_member)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    """Return the scheme, host and port of a URL."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
