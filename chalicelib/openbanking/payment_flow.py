"""Payments: from a TPP's order to the bank's answer (specification, Payment flow, Direct payment flow).

What is decided before the bank is called, that an idempotency key or a one-time consent is used now, is one conditional
transaction; what the bank answered is another. Between the two the bank is called once, on a connection of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from chalicelib.foundation import jsontext, log
from chalicelib.foundation.fields import InvalidMessage
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.store import (
    ConditionFailed,
    Conflict,
    Item,
    Operation,
    Put,
    Store,
    StoreError,
    StoreUnavailable,
)
from chalicelib.openbanking.admission import in_version, permitted, reachable
from chalicelib.openbanking.approved_accounts import check_accounts
from chalicelib.openbanking.bank_link import BankAnswer, BankFailed, BankLink, Outgoing
from chalicelib.openbanking.bank_record import Bank
from chalicelib.openbanking.banks import Banks
from chalicelib.openbanking.callers import Caller, Callers, Credentials, invalid_bearer, spent_bearer
from chalicelib.openbanking.clients import Client
from chalicelib.openbanking.consents import Consent, Consents, consent_key
from chalicelib.openbanking.idempotency import Claim, IdempotencyKeys
from chalicelib.openbanking.payments import Payment, Payments, is_early
from chalicelib.openbanking.protocol.errors import Detail, Fault, Refusal, refuse_fields
from chalicelib.openbanking.protocol.payments import (
    AUTHORIZE_AGAIN,
    NOT_KEPT,
    NOT_SENT,
    OUTCOME_UNKNOWN,
    REFUSED,
    SCHEMES,
    Kind,
    SchemeInvalid,
    first_status,
    is_payment_id,
    possible_schemes,
    scheme,
)
from chalicelib.openbanking.protocol.scopes import Version
from chalicelib.openbanking.protocol.webhooks import PaymentCall, Webhook

KEPT_BYTES = 300_000
"""The longest answer of a bank to a payment that is taken: it has to fit into a record."""
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Order:
    """A payment that a caller may initiate; ``caller`` is ``None`` for a direct payment, ``claim`` without a key."""

    kind: Kind
    client: Client
    caller: Caller | None
    bank: Bank
    version: Version
    webhook: Webhook
    claim: Claim | None
    attempt: str

    @property
    def consent(self) -> Consent | None:
        return self.caller.consent if self.caller else None


@dataclass(frozen=True, slots=True)
class PaymentFlow:
    """Initiates payments."""

    store: Store
    callers: Callers
    banks: Banks
    consents: Consents
    payments: Payments
    keys: IdempotencyKeys
    link: BankLink

    def admit(self, call: PaymentCall, credentials: Credentials, claim: Claim | None) -> Order | BankAnswer:
        """Check client, request id, bearer, version and scope, in this order; answers a repeat at once.

        A spent bearer passes if the request is a repeat of the one that it was spent on.

        Raises:
            Refusal: also the one that the same request got before.
        """
        caller = self.callers.bearer(credentials, [claim.key] if claim else [], or_spent=True)
        kept = caller.found[0] if claim else None
        spent = caller.consent.status == "spent"
        if spent and (claim is None or kept is None or not claim.is_of_one_consent_with(kept)):
            raise spent_bearer()
        webhook = permitted(call.webhooks, caller.consent)
        known = self.keys.known(claim, kept) if claim else None
        if known is not None:
            return BankAnswer(known, 0)
        if spent:
            raise spent_bearer()
        bank = reachable(self.banks, caller.consent)
        version = caller.consent.api_version
        return Order(call.kind, caller.client, caller, bank, version, webhook, claim, new_id())

    def admit_direct(
        self, call: PaymentCall, credentials: Credentials, claim: Claim | None, bic: Callable[[], str]
    ) -> Order | BankAnswer:
        """The same for a payment without a bearer, at the bank that ``bic`` names. Raises: Refusal."""
        client, found = self.callers.client_and(credentials, [claim.key] if claim else [])
        known = self.keys.known(claim, found[0]) if claim else None
        if known is not None:
            return BankAnswer(known, 0)
        bank = self.banks.find(bic())
        if bank is None:
            raise Refusal(Fault.UNKNOWN_RESOURCE, "no bank with this BIC is reachable")
        webhook = in_version(call.webhooks, bank.api_version)
        return Order(call.kind, client, None, bank, bank.api_version, webhook, claim, new_id())

    def initiate(self, order: Order, members: object, *, request_id: str, psu_address: str | None) -> BankAnswer:
        """Have the bank take the payment; a repeat of a request with a key gets what the first one got.

        Raises:
            Refusal: nothing was sent; or, as a bank's failure, saying whether the bank may have the payment.
        """
        request = self._request(order, members)
        if order.consent is not None:
            check_accounts(order.consent, request)
        outgoing = self._outgoing(order, request, request_id, psu_address)
        known = self._begin(order)
        if known is not None:
            return BankAnswer(known, 0)
        try:
            answer = self._send(order, request, outgoing)
        except BankFailed as failure:
            refusal = _explained(failure)
            self._end_in_vain(order, refusal, request_id, never_reached=failure.reach == "never")
            raise refusal from failure
        self._end(order, answer.body, request_id)
        return answer

    # -- inside

    def _request(self, order: Order, members: object) -> dict[str, Any]:
        """What the bank is sent: the TPP's order with its payment schemes filled in. Raises: Refusal."""
        by_swift = isinstance(members, dict) and members.get("payment_scheme") == "SWIFT"
        if by_swift and "SWIFT" not in possible_schemes(order.version, order.kind, SCHEMES[order.version]):
            raise Refusal(Fault.SCHEME, "payment_scheme SWIFT is for single payments of version 2 only")
        try:
            message = order.webhook.request.read(members)
        except InvalidMessage as error:
            raise refuse_fields(error) from None
        request = message.model_dump(exclude_none=True)
        if _origin(request["callback_url"]) != _origin(order.client.callback_url):
            text = "callback_url must have the scheme, host and port of the client's Callback URL"
            raise Refusal(Fault.FIELD, text)
        try:
            _fill_in_schemes(order, request)
        except SchemeInvalid as error:
            raise Refusal(Fault.SCHEME, str(error)) from None
        return request

    def _begin(self, order: Order) -> dict[str, Any] | None:
        """Use the key and the one-time consent up; answers what is known when another request was first.

        Raises:
            Refusal: the other request is still running, or the consent has been used or has ended.
        """
        operations: list[Operation] = [self.keys.claiming(order.claim)] if order.claim else []
        if order.caller is not None and order.caller.consent.consent_type == "one_time":
            operations += self.consents.spending(order.caller.consent, order.caller.token, order.attempt)
        if not operations:
            return None
        try:
            self.store.transact(operations)
        except ConditionFailed as failure:
            if order.claim is not None and 0 in failure.failed:
                known = self.keys.known(order.claim, failure.items[0])
                if known is None:
                    raise Conflict("the claim that was in the way is gone") from None
                return known
            found = [item or {} for item in failure.items]
            if not any(item.get("spent_by") == order.attempt for item in found):
                raise (spent_bearer() if any("spent_by" in item for item in found) else invalid_bearer()) from None
        except (StoreUnavailable, Conflict):
            if not self._has_begun(order):
                raise
        return None

    def _has_begun(self, order: Order) -> bool:
        """Whether this very attempt has used the key or the consent up, although the storage did not say so."""
        if order.claim is not None:
            item, mark, attempt = self.store.get(*order.claim.key), "attempt", order.claim.attempt
        else:
            assert order.consent is not None, "there is nothing else to use up"
            item, mark, attempt = self.store.get(*consent_key(order.consent.consent_id)), "spent_by", order.attempt
        return item is not None and item.get(mark) == attempt

    def _outgoing(self, order: Order, request: dict[str, Any], request_id: str, psu_address: str | None) -> Outgoing:
        """The request to the bank, made before anything is used up: what fails here costs nothing."""
        token = self.consents.bank_token(order.consent) if order.consent and order.webhook.sends_token else None
        path = order.webhook.path
        return self.link.prepare(order.bank, path, request, request_id=request_id, token=token, psu_address=psu_address)

    def _send(self, order: Order, request: dict[str, Any], outgoing: Outgoing) -> BankAnswer:
        answer = self.link.exchange(outgoing, order.version, order.webhook, request, once=True)
        if not answer.body["confirmation_url"] or not is_payment_id(answer.body["payment_id"]):
            raise BankFailed("the bank's answer has no usable payment_id and confirmation_url")
        if len(jsontext.dumps(answer.body)) > KEPT_BYTES:
            raise BankFailed(f"the bank's answer to a payment is larger than {KEPT_BYTES} bytes")
        return answer

    def _end(self, order: Order, answer: dict[str, Any], request_id: str) -> None:
        """Write down that the bank has answered with a payment. Raises: Refusal, when that is not possible."""
        payment = self.payments.new(
            order.bank.bic,
            answer["payment_id"],
            api_version=order.version,
            kind=order.kind,
            client_id=order.client.client_id,
            consent_id=order.consent.consent_id if order.consent else None,
            request_id=request_id,
            status=first_status(order.version, answer.get("status")),
        )
        try:
            self._write(payment, self._kept(order, lambda claim: self.keys.keeping(claim, answer)))
        except StoreError:
            log.exception("payment not recorded", request_id=request_id)
            raise Refusal(Fault.INTERNAL, NOT_KEPT) from None

    def _kept(self, order: Order, keeping: Callable[[Claim], Put]) -> list[Operation]:
        """The write that keeps an outcome for repeats; without it, when it cannot be sealed, the rest still counts."""
        try:
            return [keeping(order.claim)] if order.claim else []
        except Exception:
            log.exception("outcome not sealed")
            return []

    def _write(self, payment: Payment, kept: Sequence[Operation]) -> None:
        """Write a new payment, with the reports on it that came before it. Raises: StoreError.

        A payment_id that the bank gives out again stands for the later order, unless the bank answers the same order.
        """
        found: Item | None = None
        for attempt in range(_TRIES):
            if found is not None and not is_early(found):
                if Payment.from_item(found).request_id == payment.request_id:
                    if kept:
                        self.store.transact(kept)
                    return
                log.warning("payment_id given out again", bic=payment.bic, payment_id=payment.payment_id)
            try:
                self.store.transact([self.payments.creation(payment, found), *kept])
            except ConditionFailed as failure:
                if 0 not in failure.failed:
                    raise
                found = failure.item
                self.store.wait(attempt)
            else:
                return
        raise Conflict("the payment kept changing")

    def _end_in_vain(self, order: Order, refusal: Refusal, request_id: str, *, never_reached: bool) -> None:
        """Keep the refusal for repeats, and give a one-time consent back when the bank was provably never reached."""
        kept = self._kept(order, lambda claim: self.keys.keeping_refusal(claim, refusal, request_id))
        given_back: list[Operation] = []
        caller = order.caller
        if never_reached and caller is not None and caller.consent.consent_type == "one_time":
            given_back = self.consents.giving_back(caller.consent, caller.token, order.attempt)
        try:
            if given_back:
                self._give_back(given_back, kept)
            elif kept:
                self.store.transact(kept)
        except StoreError:
            log.exception("failed payment not recorded", request_id=request_id)

    def _give_back(self, given_back: Sequence[Operation], kept: Sequence[Operation]) -> None:
        try:
            self.store.transact([*given_back, *kept])
        except ConditionFailed:  # the consent was revoked in the meantime
            if kept:
                self.store.transact(kept)


def _fill_in_schemes(order: Order, request: dict[str, Any]) -> None:
    """Every payment gets a scheme that the bank offers: its own, or its currency's default. Raises: SchemeInvalid."""
    possible = possible_schemes(order.version, order.kind, order.bank.schemes)
    if order.kind == "bulk" and order.version == 1:
        for item in request["payments"]:
            item["payment_scheme"] = scheme(item.get("payment_scheme"), item["currency"], possible)
        return
    if order.version == 1:
        currency = request["currency"]
    else:
        currency = request["instructed_totals" if order.kind == "bulk" else "instructed_amount"]["currency"]
    request["payment_scheme"] = scheme(request.get("payment_scheme"), currency, possible)


def _explained(failure: BankFailed) -> Refusal:
    """A bank's failure in words that say what became of the payment."""
    said = {"never": NOT_SENT, "refused": REFUSED, "unknown": OUTCOME_UNKNOWN}[failure.reach]
    if failure.authorize_again:
        said = f"{said}; {AUTHORIZE_AGAIN}"
    details = [Detail(Fault.BANK_FAILED, failure.detail)]
    return Refusal(Fault.BANK_FAILED, said, details, bank_seconds=failure.bank_seconds)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port of an address."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
