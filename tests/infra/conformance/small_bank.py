"""A conforming test bank of either protocol version. Faulty banks override one of the methods."""

import secrets
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.identifiers import is_uuid, new_uuid
from chalicelib.openbanking.protocol import v1_version, v2_version
from chalicelib.openbanking.protocol.errors import Fault, Refusal, refuse_fields
from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import Webhook
from tests.infra.conformance.bank_reads import ACCOUNT_ID, CURRENCY, IBAN, NUMBER, BankReads, Members

API_KEY = "SMALLGB2.the-key-of-the-small-bank"
KEY = signatures.load_private_key(signatures.generate_private_pem())
OTHER_KEY = signatures.load_private_key(signatures.generate_private_pem())
Decision = Callable[[bool], str]
Fetch = Callable[[str, str, Mapping[str, str], bytes], "Answer"]
STATUSES: Mapping[Version, Mapping[str, Any]] = {
    v1_version.VERSION: {"received": 1, "confirmed": 4, "cancelled": 3},
    v2_version.VERSION: {"received": "RCVD", "confirmed": "ACSC", "cancelled": "CANC"},
}


@dataclass
class Consent:
    scopes: list[str]
    one_time: bool
    spent: bool = False


@dataclass
class Payment:
    payment_id: str
    callback_url: str
    status: Any
    request_id: str


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    seconds: float = 0.0


class HubRefused(Exception):
    """Raised if the hub rejects a call."""


class SmallBank(BankReads):
    """A conforming bank. ``hub`` is set after the address of the conformance kit is known."""

    fetch: Fetch

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self.hub = ""
        self.own = "http://127.0.0.1:1"
        self.consents: dict[str, Consent] = {}
        self.payments: dict[str, Payment] = {}
        self.orders: dict[str, tuple[bytes, Members]] = {}
        self.questions: dict[str, Decision] = {}
        self.hub_key: RSAPublicKey | None = None
        self.lock = threading.RLock()

    # -- what broken banks override

    def accepts_key(self, given: str) -> bool:
        return given == API_KEY

    def accepts_signature(self, body: bytes, given: str) -> bool:
        if self.hub_key is None:
            published = self.fetch("GET", f"{self.hub}/bank/public_key", {}, b"")
            self.hub_key = signatures.load_public_key(published.body.decode())
        return signatures.verify([self.hub_key], body, given)

    def accepts_token(self, given: str) -> bool:
        return given in self.consents

    def signing_key(self) -> RSAPrivateKey:
        return KEY

    def signed_bytes(self, body: bytes) -> bytes:
        return body

    def approved(self, scopes: list[str]) -> list[str]:
        return scopes

    def after_refusal(self, request_url: str, scopes: list[str], cancel_url: str) -> str:
        return cancel_url

    def shape(self, webhook: Webhook, members: Members) -> Members:
        return members

    def error(self, refusal: Refusal, request_id: str) -> Answer:
        status, body = self.version.errors(refusal, request_id, 1_790_000_000)
        says = {"status": "error"} if self.version.answers.says_status else {}
        return Answer(status, jsontext.dumps({**says, **body}).encode())

    def finish(self, webhook: Webhook, answer: Answer) -> Answer:
        """Return the final response. Faulty banks change this response."""
        return answer

    def end(self, token: str) -> None:
        self.consents.pop(token, None)

    def returned(self, payment: Payment, query: Members) -> Members:
        return query

    def report(self, payment: Payment) -> None:
        self.call("/payments/status", payment_id=payment.payment_id, payment_status=payment.status)

    def order_id(self, request_id: str) -> str:
        """Return the normalised id of an order. The id is case-insensitive."""
        return request_id.lower()

    def repeated(self, request_id: str, body: bytes) -> Members | None:
        """Return the response to a duplicate order, or ``None`` for a new order. Raises: Refusal."""
        before = self.orders.get(request_id)
        if before is not None and before[0] != body:
            raise Refusal(Fault.HEADERS, "this X-Request-Id was used before")
        return before[1] if before else None

    def new_payment_id(self) -> str:
        return secrets.token_hex(8)

    def seen(self, url: str) -> str:
        """Return the URL that the PSU opened, in the form in which the bank reports the URL to the hub."""
        return url

    def tell_end(self, token: str) -> None:
        self.call("/token/revoke", access_token=token)

    def new_request_id(self) -> str:
        return str(uuid.uuid4())

    def pays_in(self, currency: str) -> bool:
        return currency == CURRENCY

    # -- calls to the hub

    def call(self, path: str, **members: Any) -> Members:
        body = jsontext.dumps(self.version.in_spelling(members)).encode()
        headers = {
            "X-Api-Key": API_KEY,
            "X-Request-Id": self.new_request_id(),
            "X-Signature": signatures.sign(self.signing_key(), self.signed_bytes(body)),
            "Content-Type": "application/json",
        }
        answer = self.fetch("POST", f"{self.hub}{self.version.base}{path}", headers, body)
        if answer.status >= 400:
            raise HubRefused(path)
        back = {self.version.spell(name): name for name in _MEMBERS}
        return {back.get(name, name): value for name, value in jsontext.loads(answer.body).items()}

    # -- pages

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Respond to a request of the hub or a browser. The names in ``headers`` are in lower case."""
        try:
            if method == "GET":
                return self.show(path)
            if path == "/end":
                return self.end_all()
            if path.startswith("/decide/"):
                return self.decide(path.removeprefix("/decide/"), parse_qs(body.decode())["decision"] == ["yes"])
        except HubRefused:
            return Answer(502, b"the hub refused", {})
        return self.answer(path, headers, body)

    def show(self, path: str) -> Answer:
        """Return the consent page. The page contains only the address of the form."""
        if not path.startswith("/consent?"):
            return Answer(404, b"", {})
        return Answer(200, f"/decide/{self.arrive(path)}".encode(), {"Content-Type": "text/plain"})

    def decide(self, secret: str, yes: bool) -> Answer:
        leads_to = self.questions[secret](yes)
        return Answer(303, b"", {"Location": leads_to}) if leads_to else Answer(200, b"goodbye", {})

    def arrive(self, path: str) -> str:
        url = self.seen(f"{self.own}{path}")
        asked = self.call("/init_authorization", request_url=url)
        one_time = dict(parse_qsl(urlsplit(url).query)).get("consent_type") == "one_time"

        def decide(approved: bool) -> str:
            if not approved:
                return self.after_refusal(url, asked["scopes"], asked["cancel_url"])
            return self.save(url, asked["scopes"], one_time)

        return self.ask(decide)

    def save(self, url: str, scopes: list[str], one_time: bool) -> str:
        given = self.approved(scopes)
        saved = self.call(
            "/consent", request_url=url, scopes=given, ibans=[IBAN], account_ids=[ACCOUNT_ID], account_numbers=[NUMBER]
        )
        self.consents[saved["access_token"]] = Consent(given, one_time)
        return str(saved["callback_url"])

    def ask(self, decide: Decision) -> str:
        secret = secrets.token_urlsafe()
        self.questions[secret] = decide
        return secret

    def end_all(self) -> Answer:
        while self.consents:
            self.tell_end(self.consents.popitem()[0])
        return Answer(204, b"", {})

    def decide_payment(self, payment: Payment, confirmed: bool) -> str:
        statuses = STATUSES[self.version]
        payment.status = statuses["confirmed" if confirmed else "cancelled"]
        self.report(payment)
        query = {"status": payment.status, "payment_id": payment.payment_id}
        query |= {} if confirmed else {"message": "The customer refused."}
        joint = "&" if "?" in payment.callback_url else "?"
        return f"{payment.callback_url}{joint}{urlencode(self.returned(payment, query))}"

    # -- webhooks

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        with self.lock:
            given = headers.get("x-request-id", "")
            request_id = given if is_uuid(given) else new_uuid()
            webhook = next((each for each in self.version.webhooks if each.path == path), None)
            try:
                answer = Answer(200, jsontext.dumps(self.handle(webhook, headers, body)).encode())
            except Refusal as refusal:
                answer = self.error(refusal, request_id)
        return self.finish(webhook, answer) if webhook else answer

    def handle(self, webhook: Webhook | None, headers: Mapping[str, str], body: bytes) -> Members:
        """Return the members of the response to a webhook. Raises: Refusal."""
        if webhook is None:
            raise Refusal(Fault.NO_SUCH_ACTION, "there is no such webhook")
        if not self.accepts_key(headers.get("x-api-key", "")):
            raise Refusal(Fault.WRONG_CREDENTIALS, "the API key is wrong")
        if not is_uuid(headers.get("x-request-id", "")):
            raise Refusal(Fault.REQUEST_ID, "X-Request-Id must be a UUID")
        if not self.accepts_signature(body, headers.get("x-signature", "")):
            raise Refusal(Fault.WRONG_SIGNATURE, "the signature is wrong")
        try:
            members = jsontext.loads(body)
            webhook.request.read(members)
        except jsontext.InvalidJson:
            raise Refusal(Fault.NOT_JSON, "the body is not JSON") from None
        except InvalidMessage as error:
            raise refuse_fields(error) from None
        token = headers.get("x-auth-token", "")
        if webhook.scope is not None:
            self.check_consent(webhook, token)
        says = {"status": "success"} if self.version.answers.says_status or webhook.form else {}
        order_id = self.order_id(headers["x-request-id"])
        return {**says, **self.shape(webhook, self.members(webhook, members, order_id, body, token))}

    def check_consent(self, webhook: Webhook, token: str) -> None:
        if not self.accepts_token(token):
            fault = Fault.NOT_AUTHENTICATED if self.version is v2_version.VERSION else Fault.UNKNOWN_TOKEN
            raise Refusal(fault, "the consent is not in force")
        consent = self.consents.get(token)
        if consent is not None and webhook.scope is not None and webhook.scope.name not in consent.scopes:
            raise Refusal(Fault.FORBIDDEN, "the consent does not have the scope")
        if consent is not None and consent.spent:
            raise Refusal(Fault.NOT_AUTHENTICATED, "the consent was for one payment")

    def members(self, webhook: Webhook, asked: Members, request_id: str, body: bytes, token: str) -> Members:
        if webhook is self.version.revoke_token:
            self.end(asked["access_token"])
            return {}
        for kind, each in self.version.payments.items():
            if each is webhook:
                return self.take(kind, asked, request_id, body, token)
        if webhook in self.version.payment_status.values():
            return {self.version.status_member: self.find_payment(asked["payment_id"]).status}
        name = next(name for name, each in self.version.relayed.items() if each is webhook)
        if asked.get("account_id", ACCOUNT_ID) != ACCOUNT_ID or asked.get("iban", IBAN) != IBAN:
            raise Refusal(Fault.UNKNOWN_RESOURCE, "there is no such account")
        return self.read(name, asked)

    def find_payment(self, payment_id: str) -> Payment:
        if payment_id not in self.payments:
            raise Refusal(Fault.UNKNOWN_RESOURCE, "there is no such payment")
        return self.payments[payment_id]

    def take(self, kind: Kind, order: Members, request_id: str, body: bytes, token: str) -> Members:
        before = self.repeated(request_id, body)
        if before is not None:
            return before
        totals = order.get("totals", [order.get("instructed_totals", order.get("instructed_amount", order))])
        if not all(self.pays_in(each["currency"]) for each in totals):
            raise Refusal(Fault.CONTENT, "the account is in another currency")
        if not self.covers(sum((Decimal(str(each["amount"])) for each in totals), Decimal())):
            raise Refusal(Fault.CONTENT, "there is not enough money")
        payment = Payment(self.new_payment_id(), order["callback_url"], STATUSES[self.version]["received"], request_id)
        self.payments[payment.payment_id] = payment
        if token in self.consents and self.consents[token].one_time:
            self.consents[token].spent = True

        def decide(confirmed: bool) -> str:
            return self.decide_payment(payment, confirmed)

        answer: Members = {
            "payment_id": payment.payment_id,
            "confirmation_url": f"{self.own}/decide/{self.ask(decide)}",
        }
        if "status" in self.version.payments[kind].answer.model_fields:
            answer["status"] = payment.status
        self.orders[request_id] = (body, answer)
        return answer


_MEMBERS = (
    *("tpp_name", "tpp_registration_number", "scopes", "cancel_url"),
    *("callback_url", "access_token", "valid_until", "status"),
)
