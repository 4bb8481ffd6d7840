"""The measured requests, in the formats of API Gateway and SQS, with the titles of ``infra/capacity.csv``.

Each request can be sent only once, so a function prepares a new request for each use.
"""

import importlib
import json
import os
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from chalicelib import bootstrap
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.settings import Settings
from infra.programme import file, loading
from tests.bench.throughput import PURCHASE, TRANSFER, WORKS
from tests.cards.issuer import DELIVERY, EUR, EVERYDAY, GBP, GERMANY, HOLDER_BLOCK, USD, Issuer
from tests.causeway import Causeway
from tests.chaos.traffic import add_bank
from tests.openbanking.kit import IBAN

MEASURED = (
    "relayed read: accounts",
    "refresh",
    "payment with a key",
    "createCard for a new holder",
    "card authorization",
    "payment status report, with an event",
    "delivery of an event",
)
CREATE_CARD: Mapping[str, Any] = {
    "card_program_id": EVERYDAY,
    "card_currency_ison": [EUR, GBP, USD],
    "card_country_ison": GERMANY,
    "card_virtual": 0,
    "card_name_line_3": "ZOE ONEIL",
    **HOLDER_BLOCK,
    **DELIVERY,
}
_SCOPES = ["account.list", "account.payments", "payment.init"]
_FAILED = re.compile(r'"error"|"response_code":"(?!00)')


@dataclass(frozen=True)
class Request:
    event: Mapping[str, Any]
    handler: str = "app.app"

    def __call__(self) -> Any:
        module, _, name = self.handler.rpartition(".")
        answer = getattr(importlib.import_module(module), name)(self.event, None)
        self.check(answer)
        return None if answer is None else json.loads(answer["body"])

    def check(self, answer: Any) -> None:
        if self.handler == "app.app" and (answer["statusCode"] not in (200, 202) or _FAILED.search(answer["body"])):
            raise AssertionError(answer)


def http_event(method: str, path: str, headers: Mapping[str, str], body: Any = None, **members: Any) -> dict[str, Any]:
    return {
        "requestContext": {"httpMethod": method, "resourcePath": path, "identity": {"sourceIp": "127.0.0.1"}},
        "headers": headers,
        "multiValueQueryStringParameters": None,
        "pathParameters": {},
        "stageVariables": {},
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
        **members,
    }


def start_service(bank_url: str) -> Causeway:
    """Start the service in this process, with one bank and the demonstration card programme, and set ``BENCH_KEY``."""
    hub = bootstrap.Hub(Settings.from_environment({"STAGE": "local"}))
    bootstrap.use(hub)
    hub.keyring.initialise()
    os.environ["BENCH_KEY"] = hub.secrets.get(hub.settings.keys_secret)["signing_keys"][0]["pem"]
    hub.cards.keys.initialise()
    outbound = hub.outbound
    causeway = Causeway(hub, {1: add_bank(hub, 1, bank_url)})
    hub.__dict__["outbound"] = outbound
    (plan, *_) = loading.load(hub, file.read_programmes(file.DEMO.read_text(encoding="utf-8"), "local"))
    causeway.card_secrets = {"full": asdict(plan.secrets["full"])}
    return causeway


class MeasuredRequests:
    def __init__(self, causeway: Causeway, events_url: str) -> None:
        self._causeway = causeway
        create = causeway.hub.openbanking.clients.create
        self._quiet = create(owner="bench@example.com", title="Bench").client
        self._notified = create(owner="bench@example.com", title="Bench", events_url=events_url).client
        causeway.tpp.client = self._quiet
        self._issuer = Issuer(causeway)
        self._records = {name: work.new_record(self._issuer) for name, work in WORKS.items()}
        for name, work in WORKS.items():  # from now on there are counters for the programme's limits
            assert work.request(self._issuer, self._records[name]), name
        self.all: Mapping[str, Callable[[], Request]] = {
            "relayed read: accounts": self._accounts,
            "relayed read: 50 transactions": self._transactions,
            "authorize": self._authorize,
            "init_authorization": self._init_authorization,
            "consent": self._consent,
            "exchange of a code": self._code,
            "refresh": self._refresh,
            "payment with a key": self._payment,
            "payment status report, with an event": self._status_report,
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

    def _tpp(self, method: str, path: str, body: Any = None, **headers: str) -> Request:
        sent = {"x-api-key": self._causeway.tpp.client_id, "accept": "application/json", **headers}
        if body is not None:
            sent["content-type"] = "application/json"
        return Request(http_event(method, path, sent, body))

    def _bank(self, path: str, body: Any) -> Request:
        bank = self._causeway.banks[1]
        headers = {"x-api-key": bank.api_key, "x-request-id": str(uuid.uuid4()), "content-type": "application/json"}
        headers["x-signature"] = signatures.sign(bank.key, json.dumps(body).encode())
        return Request(http_event("POST", f"/bank{path}", headers, body))

    def _bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._causeway.tpp.tokens(1, scopes=_SCOPES)['access_token']}"}

    def _authorize(self) -> Request:
        return self._tpp("POST", "/tpp/authorize", {"bic": self._causeway.banks[1].bic, "scopes": _SCOPES})

    def _init_authorization(self) -> Request:
        return self._bank("/init_authorization", {"request_url": self._authorize()()["redirect_url"]})

    def _consent(self) -> Request:
        url = self._authorize()()["redirect_url"]
        return self._bank("/consent", self._causeway.banks[1].consent_body(url, scopes=_SCOPES))

    def _code(self) -> Request:
        return self._tpp("POST", "/tpp/token", {"code": self._causeway.psu.approve(1, scopes=_SCOPES).query["code"]})

    def _refresh(self) -> Request:
        token = self._code()()["refresh_token"]
        return self._tpp("POST", "/tpp/token", {"grant_type": "refresh_token", "refresh_token": token})

    def _accounts(self) -> Request:
        return self._tpp("GET", "/tpp/accounts", **self._bearer())

    def _transactions(self) -> Request:
        query = {"account_id": ["A-1"], "record_count": ["50"], "current_page": ["1"]}
        event = self._tpp("GET", "/tpp/account_payments", **self._bearer()).event
        return Request({**event, "multiValueQueryStringParameters": query})

    def _payment(self) -> Request:
        order = {"sender_iban": IBAN, "receiver_iban": "DE89370400440532013000", "receiver_name": "Ada Receiver"}
        order |= {"amount": "12.30", "currency": "EUR", "callback_url": "http://127.0.0.1:8000/payments/callback"}
        key = {"idempotency-key": str(uuid.uuid4())}
        return self._tpp("POST", "/tpp/payment_initiation", order, **self._bearer(), **key)

    def _status_report(self) -> Request:
        self._causeway.tpp.client = self._notified
        payment_id = self._payment()()["payment_id"]
        self._causeway.tpp.client = self._quiet
        return self._bank("/payments/status", {"payment_id": payment_id, "payment_status": 4})

    def _delivery(self) -> Request:
        self._status_report()()
        return self._latest_delivery()

    def _deferred(self) -> Request:
        return self._tpp("GET", "/tpp/accounts", prefer="respond-async", **self._bearer())

    def _execution(self) -> Request:
        self._deferred()()
        return self._latest_delivery()

    def _outcome(self) -> Request:
        deferred = self._deferred()
        request_id = deferred()["request_id"]
        self._latest_delivery()()
        headers = {name: deferred.event["headers"][name] for name in ("x-api-key", "authorization")}
        return Request(
            http_event("GET", "/tpp/requests/{request_id}", headers, pathParameters={"request_id": request_id})
        )

    def _latest_delivery(self) -> Request:
        records = self._causeway.hub.store.scan("deliveries")
        last = max((item for item in records if item.get("due_at")), key=lambda item: item.get("created_at", 0))
        record = {"messageId": str(uuid.uuid4()), "body": last["delivery_id"], "eventSource": "aws:sqs"}
        return Request({"Records": [record]}, "chalicelib.delivery.jobs.deliver")

    # -- cards

    def _api(self, action: str, **members: Any) -> Request:
        path = "/simulator" if action.startswith("simulate") else "/api"
        body = self._issuer.body(action, **members)
        return Request(http_event("POST", path, {"content-type": "application/json"}, body))

    def _once(self, action: str, **members: Any) -> Request:
        return self._api(action, request_reference_id=f"{uuid.uuid4()}", **members)

    def _get_accounts(self) -> Request:
        [account] = self._issuer.data("getAccounts", card_id=self._records["authorizations"])
        return self._api("getAccounts", account_id=account["id"])

    def _create_card(self) -> Request:
        return self._once("createCard", **CREATE_CARD)

    def _transfer(self) -> Request:
        return self._once("transferToExternalPayment", epm_address_id=self._records["transfers"], **TRANSFER)

    def _authorization(self) -> Request:
        return self._once("simulateAuthorization", card_id=self._records["authorizations"], **PURCHASE)

    def _clearing(self) -> Request:
        left_out = ("transaction_type", "entry_mode_type", "mcc")
        members = {name: value for name, value in PURCHASE.items() if name not in left_out}
        trans_link = self._authorization()()["data"]["trans_link"]
        return self._once("simulateClearing", trans_link=trans_link, **members)
