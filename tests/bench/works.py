"""The requests that are measured, as API Gateway and SQS pass them on; each can be made once.

Their titles are those of ``infra/capacity.csv``.
"""

from __future__ import annotations

import importlib
import itertools
import json
import re
import secrets
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chalicelib.bootstrap import Hub

MEASURED = (
    "relayed read: accounts",
    "refresh",
    "payment with a key",
    "createCard for a new holder",
    "card authorization",
    "payment status report, with an event",
    "delivery of an event",
)
"""The requests of ``docs/figures.md``."""
_SCOPES = ["account.list", "account.payments", "payment.init"]
_FAILED = re.compile(r'"error"|"response_code":"(?!00)')
_IBAN = "GB33BUKB20201555555555"


@dataclass(frozen=True)
class Request:
    """A Lambda event, and the handler that answers it."""

    event: Mapping[str, Any]
    handler: str = "app.app"

    def __call__(self) -> Any:
        """The body that this process answers. Raises: AssertionError, unless the request succeeds."""
        module, _, name = self.handler.rpartition(".")
        answer = getattr(importlib.import_module(module), name)(self.event, None)
        check(self, answer)
        return None if answer is None else json.loads(answer["body"])


def check(request: Request, answer: Any) -> None:
    """Raises: AssertionError, unless the answer to a request is a success."""
    if request.handler == "app.app" and (answer["statusCode"] not in (200, 202) or _FAILED.search(answer["body"])):
        raise AssertionError(answer)


def event(method: str, path: str, headers: Mapping[str, str], body: str | None = None, **others: Any) -> dict[str, Any]:
    """A request as API Gateway passes it on."""
    return {
        "requestContext": {"httpMethod": method, "resourcePath": path, "identity": {"sourceIp": "127.0.0.1"}},
        "headers": headers,
        "multiValueQueryStringParameters": None,
        "pathParameters": {},
        "stageVariables": {},
        "body": body,
        "isBase64Encoded": False,
        **others,
    }


class Works:
    """Prepares requests in the scene: a TPP, a bank and a programme manager that want no events, and two that do."""

    def __init__(self, hub: Hub, clients: Mapping[str, str], bank: Any, bank_key: tuple[str, Any], cards: Any) -> None:
        self._hub = hub
        self._clients = clients  # ids by whether they want events: "quiet", "notified"
        self._bank = bank
        self._api_key, self._private_key = bank_key
        self._cards = cards
        self._references = map(f"{secrets.token_hex(8)}-{{:09}}".format, itertools.count())
        self.all: Mapping[str, Callable[[], Request]] = {
            "relayed read: accounts": self._accounts,
            "relayed read: 50 transactions": self._transactions,
            "authorize": self._authorize,
            "init_authorization": self._init_authorization,
            "consent": self._consent,
            "exchange of a code": self._code,
            "refresh": self._refresh,
            "payment with a key": self._payment,
            "payment status report, with an event": self._report,
            "delivery of an event": self._delivery,
            "deferred read: acceptance": self._deferred,
            "deferred read: execution": self._execution,
            "deferred read: outcome": self._outcome,
            "getAccounts": self._get_accounts,
            "createCard for a new holder": self._create_card,
            "transferToExternalPayment": self._transfer,
            "card authorization": self._authorization,
            "clearing": self._clearing,
        }

    # -- open banking

    def _tpp(self, method: str, path: str, body: Any = None, client: str = "quiet", **headers: str) -> Request:
        sent = {"x-api-key": self._clients[client], "accept": "application/json", **headers}
        if body is not None:
            sent["content-type"] = "application/json"
        return Request(event(method, path, sent, None if body is None else json.dumps(body)))

    def _asked_by_bank(self, path: str, body: Any) -> Request:
        from chalicelib.foundation.crypto import signatures

        text = json.dumps(body)
        headers = {"x-api-key": self._api_key, "x-request-id": str(uuid.uuid4()), "content-type": "application/json"}
        headers["x-signature"] = signatures.sign(self._private_key, text.encode())
        return Request(event("POST", f"/bank{path}", headers, text))

    def _authorize(self, client: str = "quiet") -> Request:
        return self._tpp("POST", "/tpp/authorize", {"bic": self._bank.bic, "scopes": _SCOPES}, client)

    def _init_authorization(self) -> Request:
        return self._asked_by_bank("/init_authorization", {"request_url": self._authorize()()["redirect_url"]})

    def _consent(self, client: str = "quiet") -> Request:
        url = self._authorize(client)()["redirect_url"]
        return self._asked_by_bank("/consent", {"request_url": url, "scopes": _SCOPES, "ibans": [_IBAN]})

    def _code(self, client: str = "quiet") -> Request:
        code = self._consent(client)()["callback_url"].partition("code=")[2].partition("&")[0]
        return self._tpp("POST", "/tpp/token", {"code": code}, client)

    def _refresh(self) -> Request:
        token = self._code()()["refresh_token"]
        return self._tpp("POST", "/tpp/token", {"grant_type": "refresh_token", "refresh_token": token})

    def _bearer(self, client: str = "quiet") -> dict[str, str]:
        return {"client": client, "authorization": f"Bearer {self._code(client)()['access_token']}"}

    def _accounts(self) -> Request:
        return self._tpp("GET", "/tpp/accounts", **self._bearer())

    def _transactions(self) -> Request:
        made = self._tpp("GET", "/tpp/account_payments", **self._bearer())
        query = {"account_id": ["A-1"], "record_count": ["50"], "current_page": ["1"]}
        return Request({**made.event, "multiValueQueryStringParameters": query})

    def _payment(self, client: str = "quiet") -> Request:
        order = {"sender_iban": _IBAN, "receiver_iban": "DE89370400440532013000", "receiver_name": "Ada Receiver"}
        order |= {"amount": "12.30", "currency": "EUR", "callback_url": "http://127.0.0.1:8000/payments/callback"}
        key = {"idempotency-key": str(uuid.uuid4())}
        return self._tpp("POST", "/tpp/payment_initiation", order, **self._bearer(client), **key)

    def _report(self) -> Request:
        payment = self._payment("notified")()["payment_id"]
        return self._asked_by_bank("/payments/status", {"payment_id": payment, "payment_status": 4})

    def _delivery(self) -> Request:
        self._report()()
        return self._latest_delivery()

    def _deferred(self) -> Request:
        return self._tpp("GET", "/tpp/accounts", prefer="respond-async", **self._bearer())

    def _execution(self) -> Request:
        self._deferred()()
        return self._latest_delivery()

    def _outcome(self) -> Request:
        asked = self._deferred()
        number = asked()["request_id"]
        self._latest_delivery()()
        headers = asked.event["headers"]
        kept = {name: headers[name] for name in ("x-api-key", "authorization")}
        return Request(event("GET", "/tpp/requests/{request_id}", kept, pathParameters={"request_id": number}))

    def _latest_delivery(self) -> Request:
        """The message of the delivery that was recorded last."""
        records = [item for item in self._hub.store.scan("deliveries") if item.get("due_at") and "created_at" in item]
        last = max(records, key=lambda item: item["created_at"])
        record = {"messageId": str(uuid.uuid4()), "body": last["delivery_id"], "eventSource": "aws:sqs"}
        return Request({"Records": [record]}, "chalicelib.delivery.jobs.deliver")

    # -- cards

    def _api(self, action: str, path: str = "/api", **members: Any) -> Request:
        asked = {"action": action, **self._cards.envelope, **members}
        return Request(event("POST", path, {"content-type": "application/json"}, json.dumps(asked)))

    def _once(self, action: str, path: str = "/api", **members: Any) -> Request:
        return self._api(action, path, request_reference_id=next(self._references), **members)

    def _get_accounts(self) -> Request:
        return self._api("getAccounts", account_id=self._cards.account)

    def _create_card(self) -> Request:
        from tests.bench.cards import CREATE_CARD

        return self._once("createCard", **CREATE_CARD)

    def _transfer(self) -> Request:
        from tests.bench.bare_transfer import DESTINATION
        from tests.cards.issuer import GBP

        members: dict[str, Any] = {f"destination_{name}": value for name, value in DESTINATION.items()}
        members |= {"epm_address_id": self._cards.address, "currency_ison": GBP, "amount": 1}
        return self._once("transferToExternalPayment", **members)

    def _authorization(self) -> Request:
        from tests.bench.bare_authorization import PURCHASE

        return self._once("simulateAuthorization", "/simulator", card_id=self._cards.card, **PURCHASE)

    def _clearing(self) -> Request:
        from tests.bench.bare_authorization import PURCHASE, SHOP

        members = {name: PURCHASE[name] for name in ("amount", "currency_ison", "merchant_country_ison", *SHOP)}
        members["trans_link"] = self._authorization()()["data"]["trans_link"]
        return self._once("simulateClearing", "/simulator", **members)
