"""Tests of a synthetic third version of the bank protocol, which only has to be registered, for native calls and, with
its rows, for unified ones.
"""

import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, cast
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_pascal

from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.fields.field_types import Message, OpenMessage
from chalicelib.foundation.http.web import Routes
from chalicelib.openbanking.api import bank_api
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.openbanking.flows.bank.expected_reports import expected_banks
from chalicelib.openbanking.protocol import bank_calls, v2_version, webhooks
from chalicelib.openbanking.protocol.bank_identifiers import LONGEST_ID, BankId
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.fields import AN, A, Amount, Currency, Iban, N, Text, WebAddress
from chalicelib.openbanking.protocol.payment_statuses import CODES
from chalicelib.openbanking.protocol.unified_scopes import NATIVE_SCOPES
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.bank_record import InvalidBank, NewBank
from chalicelib.openbanking.unified import v2_tables, values
from chalicelib.openbanking.unified.bank_requests import RefusedRow, RequestRow, RequestTable
from chalicelib.openbanking.unified.rows import Row, Shape, Sides
from chalicelib.openbanking.unified.tables import (
    TRANSACTION_ORDER,
    FundsTable,
    ListTable,
    NativeList,
    TransactionTable,
    UnifiedVersion,
)
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from tests.causeway import Answer, Causeway
from tests.openbanking.kit import IBAN, Bank

BIC = "GAMMFRP1"
PAYMENTS = ("payments.single", "payments.bulk")
"""The native scopes of the unified scope ``payments:write`` in version 3."""
SCOPES = {
    "accounts:read": ("accounts",),
    "balances:read": ("accounts.balances",),
    "transactions:read": ("accounts.transactions",),
    "payments:write": PAYMENTS,
    "funds:read": ("funds_confirmations",),
}
PAYEE_IBAN = "DE89370400440532013000"
TAKEN = {"Status": "RCVD", "ConfirmationUrl": "https://bank.example/confirm", "PaymentId": 4711}
"""The response to a payment."""
ACCOUNT = {"resource_id": "A-1", "iban": IBAN, "currency": "EUR", "name": "Compte courant"}


class InitAuthorization(bank_calls.InitAuthorization):
    """The path ``/bank/v3/init_authorization``."""

    model_config = ConfigDict(alias_generator=to_pascal)


class SaveConsent(bank_calls.SaveConsent):
    """The path ``/bank/v3/consent``."""

    model_config = ConfigDict(alias_generator=to_pascal)


class RevokeToken(bank_calls.RevokeToken):
    """The path ``/bank/v3/token/revoke``."""

    model_config = ConfigDict(alias_generator=to_pascal)


class PaymentsStatus(bank_calls.PaymentsStatusV2):
    """The path ``/bank/v3/payments/status``."""

    model_config = ConfigDict(alias_generator=to_pascal)


class ConsentsStatus(bank_calls.ConsentsStatus):
    """The path ``/bank/v3/consents/status``."""

    model_config = ConfigDict(alias_generator=to_pascal)


class AccountRequest(Message):
    """``/v3_funds_of_account`` and ``/v3_entries``."""

    account: AN[LONGEST_ID]


class Balance(OpenMessage):
    balance: N[20]
    unit: A[3]
    kind: AN[4]


class BalancesAnswer(OpenMessage):
    rows: list[Balance]


class EntriesRequest(AccountRequest):
    count: int
    after: AN[LONGEST_ID] | None = None


class Party(OpenMessage):
    holder: Text[70] | None = None
    iban: AN[34] | None = None


class Entry(OpenMessage):
    ref: BankId[35]
    sum: N[20]
    unit: A[3]
    day: AN[10]
    open: bool
    payer: Party | None = None
    payee: Party | None = None
    purpose: Text[140] | None = None


class EntriesAnswer(OpenMessage):
    entries: list[Entry]
    next_ref: BankId[35] | None = None


class PaymentRequest(Message):
    """``/v3_payment``."""

    sender_iban: Iban | None = None
    payee_holder: Text[30]
    payee_iban: Iban
    sum: Amount[10]
    unit: Currency
    purpose: Text[140] | None = None
    payment_scheme: AN[5] | None = None
    callback_url: WebAddress


class FundsRequest(Message):
    """``/v3_cover``."""

    payer_iban: Iban
    cover: Annotated[list[Amount[10]], Field(min_length=1, max_length=1)]
    unit: Currency


def error(refusal: Refusal, request_id: str, now: int) -> tuple[int, dict[str, Any]]:
    status, body = v2_version.VERSION.errors(refusal, request_id, now)
    return status, {name[0].upper() + name[1:]: value for name, value in body.items()}


READS, SINGLE = v2_version.VERSION.relayed, v2_version.VERSION.payments["single"]
WEBHOOKS = replace(
    v2_version.load_webhooks(),
    relayed={
        **READS,
        "accounts": replace(READS["accounts"], path="/v3_account_list"),
        "account_balance": replace(
            READS["account_balance"], path="/v3_funds_of_account", request=AccountRequest, answer=BalancesAnswer
        ),
        "account_transactions": replace(
            READS["account_transactions"],
            path="/v3_entries",
            request=EntriesRequest,
            answer=EntriesAnswer,
            expected=None,
            is_later_page=lambda request: "after" in request,
        ),
        "funds_confirmations": replace(READS["funds_confirmations"], path="/v3_cover", request=FundsRequest),
    },
    payments={
        **v2_version.VERSION.payments,
        "single": replace(
            SINGLE,
            path="/v3_payment",
            request=PaymentRequest,
            scheme_places=lambda request: [(request, request["unit"])],
        ),
    },
)
THIRD: Version = replace(
    v2_version.VERSION,
    number=3,
    prefix="/v3",
    spell=to_pascal,
    errors=error,
    answers=replace(v2_version.VERSION.answers, spell=to_pascal, code="Code", text="Title"),
    calls={
        "initiate": InitAuthorization,
        "save_consent": SaveConsent,
        "revoke_token": RevokeToken,
        "report_status": PaymentsStatus,
        "list_states": ConsentsStatus,
    },
    load_webhooks=lambda: WEBHOOKS,
    statuses=replace(
        CODES,
        meanings={**CODES.meanings, "HELD": "Waits for a second signature"},
        unified={**CODES.unified, "HELD": "authorising"},
    ),
)
"""Version 2 with another prefix, PascalCase, other webhooks and messages, another status and no daily reports."""
ACCOUNT_TAKEN = "banks of version 3 take an iban"
UNIFIED = UnifiedVersion(
    accounts=v2_tables.UNIFIED.accounts,
    account=v2_tables.UNIFIED.account,
    balances=ListTable(
        webhooks.ACCOUNT_BALANCE,
        (RequestRow("account", "account_id"),),
        Shape(
            [
                Row("type", "kind", values.OneOf({"BOOK": "booked"}, "other")),
                Row("native_type", "kind"),
                Row("amount.value", "balance", values.number),
                Row("amount.currency", "unit"),
                Row("as_of"),
                Row("credit_limit_included"),
            ]
        ),
        LONGEST_ID,
        "rows",
        Balance,
        amount="balance",
    ),
    transactions=TransactionTable(
        webhooks.ACCOUNT_TRANSACTIONS,
        (RequestRow("account", "account_id"), RequestRow("count", "limit"), RequestRow("after", "position")),
        Shape(
            [
                Row("transaction_id", "ref"),
                Row("amount.value", "sum", values.unsigned),
                Row("amount.currency", "unit"),
                Row("date", "day", values.day),
                Row("booking_date", "day", values.day),
                Row("value_date"),
                Row("counterparty.name", "{other}.holder"),
                Row("counterparty.iban", "{other}.iban", values.iban),
                *(Row(f"counterparty.{member}") for member in ("bban", "sort_code", "account_number", "bic")),
                Row("remittance.unstructured", "purpose"),
                Row("remittance.reference"),
                Row("remittance.reference_type"),
            ],
            Sides(payer="payer", payee="payee"),
            TRANSACTION_ORDER,
        ),
        LONGEST_ID,
        "entries",
        Entry,
        amount="sum",
        lists=(
            NativeList(
                "entries",
                lambda entry: "pending" if entry["open"] else "booked",
                frozenset({"booked", "pending", "all"}),
            ),
        ),
        unsigned_direction=lambda entry, account_id: None,
        next_position=lambda limit, page, answer, count: values.identifier(answer.get("next_ref")),
        repeats_allowed=0,
    ),
    funds_confirmations=FundsTable(
        webhooks.FUNDS_CONFIRMATIONS,
        RequestTable(
            (
                RequestRow("payer_iban", "account.iban"),
                RequestRow("cover", "amount.value", lambda value: [value]),
                RequestRow("unit", "amount.currency"),
            ),
            [RefusedRow(f"account.{member}", ACCOUNT_TAKEN, [("account.iban",)]) for member in ("account_id", "bban")],
        ),
    ),
    payments={
        "single": RequestTable(
            (
                RequestRow("sender_iban", "debtor.iban"),
                RequestRow("payee_holder", "creditor.name"),
                RequestRow("payee_iban", "creditor.iban"),
                RequestRow("sum", "amount.value"),
                RequestRow("unit", "amount.currency"),
                RequestRow("purpose", "remittance.unstructured"),
                RequestRow("payment_scheme", "scheme"),
                RequestRow("callback_url", "callback_url"),
            ),
            [RefusedRow("creditor.bban", ACCOUNT_TAKEN, [("creditor.iban",)])],
        )
    },
)
"""The rows of version 3: all that the unified API needs."""


@dataclass(frozen=True)
class ThirdBank:
    """A bank of the third version, with a TPP that uses it."""

    causeway: Causeway
    side: Bank

    def call(self, path: str, members: Any, base: str = "/bank/v3") -> Answer:
        body = jsontext.dumps(members).encode()
        headers = {
            "content-type": "application/json",
            "x-api-key": self.side.api_key,
            "x-request-id": str(uuid.uuid4()),
            "x-signature": signatures.sign(self.side.key, body),
        }
        return self.causeway.call("POST", base + path, body, headers)

    def authorize(self, *scopes: str) -> Any:
        answer = self.causeway.tpp.call("POST", "/tpp/authorize", {"bic": BIC, "scopes": [*scopes]})
        assert answer.status == 200, answer
        return answer.body

    def approve(self, *scopes: str) -> Answer:
        members = {"RequestUrl": self.authorize(*scopes)["redirect_url"], "Scopes": [*scopes], "Ibans": [IBAN]}
        return self.call("/consent", members)

    def bearer(self, *scopes: str) -> str:
        callback = self.approve(*scopes).body["CallbackUrl"]
        code = parse_qs(urlsplit(callback).query)["code"][0]
        bearer: str = self.causeway.tpp.call("POST", "/tpp/token", {"authorization_code": code}).body["access_token"]
        return bearer

    def pay(self, bearer: str) -> Answer:
        order = {
            "sender_iban": IBAN,
            "payee_holder": "Ada",
            "payee_iban": PAYEE_IBAN,
            "sum": "12.50",
            "unit": "EUR",
            "callback_url": self.causeway.tpp.client.callback_url,
        }
        return self.causeway.tpp.call("POST", "/tpp/payment_initiation", order, bearer=bearer)

    def unified(self, method: str, path: str, bearer: str, body: Any = None) -> Answer:
        return self.causeway.tpp.call(method, f"/tpp/unified/{path}", body, bearer=bearer)

    def sent(self, webhook: str) -> Any:
        """Return the members of the only request that the bank received at a webhook."""
        (sent,) = [each for each in self.side.received if each.path == webhook]
        return jsontext.loads(sent.body)


@pytest.fixture
def bank(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThirdBank]:
    import app  # before the version is registered, so that it is the application of every test

    known = set(app.app.routes)
    monkeypatch.setitem(cast(dict[int, Version], VERSIONS), THIRD.number, THIRD)
    monkeypatch.setitem(cast(dict[int, Any], NATIVE_SCOPES), THIRD.number, SCOPES)
    monkeypatch.setitem(cast(dict[int, UnifiedVersion], UNIFIED_VERSIONS), THIRD.number, UNIFIED)
    routes = Routes[OpenBankingContainer](__name__, bank_api.answer_failure, bank_api.refuse_unknown_action)
    bank_api.serve(routes, THIRD)
    app.app.register_blueprint(routes.bind(lambda: causeway.hub.openbanking))
    yield ThirdBank(causeway, _registered(causeway))
    causeway.hub.openbanking.banks.remove(BIC)
    for path in set(app.app.routes) - known:
        del app.app.routes[path]


@cache
def _key() -> RSAPrivateKey:
    return signatures.load_private_key(signatures.generate_private_pem())


def _registered(causeway: Causeway) -> Bank:
    key = _key()
    registered, api_key = causeway.hub.openbanking.banks.add(_new_bank([signatures.public_pem(key.public_key())]))
    side = causeway.banks[THIRD.number] = Bank(registered, api_key, key)
    side.answers["/v3_payment"] = lambda sent: TAKEN
    return side


def _new_bank(public_keys: list[str], api_version: int = 3) -> NewBank:
    return NewBank(
        bic=BIC,
        name="Bank of version 3",
        country="FR",
        api_version=api_version,
        domain="http://127.0.0.1:1/bank-3",
        authorization_url="http://127.0.0.1:1/bank-3/authorize",
        public_keys=public_keys,
    )


def test_a_bank_of_version_3_is_listed_and_can_be_chosen(bank: ThirdBank) -> None:
    listed = bank.causeway.tpp.call("GET", f"/tpp/banks/{BIC}").body
    query = {"response_type": "code", "client_id": bank.causeway.tpp.client_id, "scope": "accounts"}

    page = bank.causeway.call("GET", f"/oauth/authorize?{urlencode(query)}")
    chosen = bank.causeway.call("GET", f"/oauth/authorize?{urlencode({**query, 'bic': BIC})}")

    assert (listed["api_version"], listed["scopes"]) == (3, [*THIRD.scopes])
    assert (page.status, "Bank of version 3" in page.text) == (200, True)
    assert chosen.headers["location"].startswith("http://127.0.0.1:1/bank-3/authorize")


def test_a_bank_of_an_unregistered_version_is_refused(causeway: Causeway) -> None:
    with pytest.raises(InvalidBank, match=r"api_version must be 1 or 2$"):
        causeway.hub.openbanking.banks.add(_new_bank([]))


def test_a_bank_of_version_3_is_registered_under_the_rules_of_version_3(bank: ThirdBank) -> None:
    registered = bank.side.record

    assert (registered.version, registered.signature_required) == (THIRD, True)
    assert registered.scope_names == tuple(v2_version.VERSION.scopes)
    assert {each.bic: each.reports for each in expected_banks(bank.causeway.hub.openbanking.banks)}[BIC] is False
    with pytest.raises(InvalidBank, match=r"api_version must be 1 or 2 or 3$"):
        bank.causeway.hub.openbanking.banks.add(_new_bank([], api_version=4))
    with pytest.raises(InvalidBank, match="must sign its calls"):
        bank.causeway.hub.openbanking.banks.change(BIC, public_keys=[])


def test_version_3_calls_use_the_version_3_path_prefix_and_member_names(bank: ThirdBank) -> None:
    asked = bank.authorize("accounts")

    told = bank.call("/init_authorization", {"RequestUrl": asked["redirect_url"]})
    approved = bank.approve("accounts")

    assert (told.status, approved.status) == (200, 200)
    assert set(told.body) == {"TppName", "TppRegistrationNumber", "Scopes", "CancelUrl"}
    assert urlsplit(told.body["CancelUrl"]).path.startswith("/bank/v3/cancel/")
    assert set(approved.body) == {"CallbackUrl", "AccessToken", "ValidUntil"}


def test_the_cancel_url_of_version_3_redirects_the_psu_to_the_tpp(bank: ThirdBank) -> None:
    asked = bank.authorize("accounts")
    told = bank.call("/init_authorization", {"RequestUrl": asked["redirect_url"]})

    back = bank.causeway.call("GET", urlsplit(told.body["CancelUrl"]).path)

    query = parse_qs(urlsplit(back.headers["location"]).query)
    assert back.status == 303
    assert query["error"] == ["access_denied"]
    assert query["state"] == [asked["state"]]


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({}, "AUTHORIZATION_REQUEST_URL_DOES_NOT_EXIST"),
        ({"RequestUrl": None}, "AUTHORIZATION_REQUEST_URL_DOES_NOT_EXIST"),
        ({"RequestUrl": "https://elsewhere.example"}, "AUTHORIZATION_REQUEST_URL_NOT_VALID"),
        ({"RequestUrl": "https://elsewhere.example", "requestUrl": "x"}, "EXTRA_FIELDS_PROVIDED"),
    ],
)
def test_banks_of_version_3_get_errors_in_the_format_of_version_3(bank: ThirdBank, members: Any, code: str) -> None:
    answer = bank.call("/init_authorization", members)

    assert (answer.status, answer.body["Code"]) == (400, "FORMAT_ERROR")
    assert code in [each["code"] for each in answer.body["AdditionalErrors"]]


def test_banks_of_version_3_cannot_call_the_paths_of_other_versions(bank: ThirdBank) -> None:
    first, second = (bank.call("/init_authorization", {}, base) for base in ("/bank", "/bank/v2"))
    unknown = bank.call("/daily_performance", {})

    assert (first.status, first.body["error_code"]) == (403, 4004)
    assert (second.status, second.body["code"]) == (403, "SERVICE_BLOCKED")
    assert "version 3" in second.body["title"]
    assert (unknown.status, unknown.body["Code"]) == (401, "API_ACTION_DOES_NOT_EXIST")


def test_version_3_accounts_use_the_version_3_webhook_and_member_names(bank: ThirdBank) -> None:
    spelled = {to_pascal(name): value for name, value in ACCOUNT.items()}
    bank.side.answers["/v3_account_list"] = lambda sent: {"Accounts": [spelled]}

    answer = bank.causeway.tpp.call("GET", "/tpp/accounts", bearer=bank.bearer("accounts"))

    assert (answer.status, answer.body) == (200, {"accounts": [ACCOUNT]})


def test_the_error_message_of_a_version_3_bank_is_returned_to_the_tpp(bank: ThirdBank) -> None:
    bank.side.answers["/v3_account_list"] = lambda sent: {"Code": "CLOSED", "Title": "We are closed today"}

    answer = bank.causeway.tpp.call("GET", "/tpp/accounts", bearer=bank.bearer("accounts"))

    assert (answer.status, answer.body["code"]) == (502, "ASPSP_UNKNOWN_ERROR")
    assert answer.body["additionalErrors"][0]["details"] == "CLOSED: We are closed today"


def test_a_payment_of_version_3_can_be_sent_reported_and_queried(bank: ThirdBank) -> None:
    bearer = bank.bearer("payments.single")
    events_secret = bank.causeway.tpp.set_events_url()

    taken = bank.pay(bearer)
    reported = bank.call("/payments/status", {"PaymentId": "4711", "PaymentStatus": "ACSP"})
    bank.side.answers["/v2_payment_single_status"] = lambda sent: {"TransactionStatus": "ACSC"}
    asked = bank.causeway.tpp.call("GET", "/tpp/payment_status?payment_id=4711", bearer=bearer)

    expected = {"status": "RCVD", "confirmation_url": "https://bank.example/confirm", "payment_id": "4711"}
    assert (taken.status, taken.body) == (200, expected)
    assert (reported.status, reported.body) == (200, {"Status": "success"})
    assert (asked.status, asked.body) == (200, {"transaction_status": "ACSC", "payment_id": "4711"})
    assert bank.sent("/v3_payment")["payment_scheme"] == "SCT"
    assert events_secret
    assert [each.topic for each in bank.causeway.recorded("event")] == ["payment.status_changed"]


def test_a_revocation_by_a_version_3_bank_ends_the_consent(bank: ThirdBank) -> None:
    approved = bank.approve("accounts")
    code = parse_qs(urlsplit(approved.body["CallbackUrl"]).query)["code"][0]
    bearer = bank.causeway.tpp.call("POST", "/tpp/token", {"authorization_code": code}).body["access_token"]

    ended = bank.call("/token/revoke", {"AccessToken": approved.body["AccessToken"]})

    assert (ended.status, ended.body) == (200, {"Status": "success"})
    assert bank.causeway.tpp.call("GET", "/tpp/consent", bearer=bearer).status == 401


def test_a_version_3_consent_status_uses_the_version_3_member_names(bank: ThirdBank) -> None:
    token = bank.approve("accounts").body["AccessToken"]
    consent_id = token.partition(".")[0]

    told = bank.call("/consents/status", {"AccessTokens": [token], "ConsentIds": ["unknown"]})
    listed = bank.causeway.tpp.call("GET", f"/tpp/consents?bic={BIC}").body["consents"]

    known, unknown = told.body["Consents"]
    assert known == {
        "ConsentId": consent_id,
        "Status": "authorised",
        "Scopes": ["accounts"],
        "ValidUntil": listed[0]["valid_until"],
        "EndedAt": None,
        "EndedBy": None,
    }
    assert (set(unknown), unknown["Status"]) == (set(known), "unknown")
    assert [entry["consent_id"] for entry in listed] == [consent_id]


def test_unified_scopes_of_version_3_are_translated_by_its_row(bank: ThirdBank) -> None:
    asked = bank.authorize("payments:write", "accounts:read")
    told = bank.call("/init_authorization", {"RequestUrl": asked["redirect_url"]})
    saved = bank.call(
        "/consent", {"RequestUrl": asked["redirect_url"], "Scopes": [*PAYMENTS, "accounts"], "Ibans": [IBAN]}
    )
    code = parse_qs(urlsplit(saved.body["CallbackUrl"]).query)["code"][0]

    tokens = bank.causeway.tpp.call("POST", "/tpp/token", {"authorization_code": code}).body

    assert told.body["Scopes"] == [*PAYMENTS, "accounts"]
    assert (tokens["scope"], tokens["unified_scopes"]) == (
        "payments:write accounts:read",
        ["accounts:read", "payments:write"],
    )


def test_a_unified_scope_without_a_translation_in_version_3_is_not_offered(bank: ThirdBank) -> None:
    tpp = bank.causeway.tpp
    query = {"response_type": "code", "client_id": tpp.client_id}

    listed = tpp.call("GET", f"/tpp/banks/{BIC}").body
    refused = tpp.call("POST", "/tpp/authorize", {"bic": BIC, "scopes": ["bulk_payments:write"]})
    with_row, without = (
        bank.causeway.call("GET", f"/oauth/authorize?{urlencode(query | {'scope': name})}").text
        for name in ("payments:write", "bulk_payments:write")
    )

    assert listed["unified_scopes"] == [*SCOPES]
    assert (refused.status, refused.body["additionalErrors"][0]["code"]) == (400, "AUTHORIZATION_SCOPE_NOT_CORRECT")
    assert "Bank of version 3" in with_row
    assert "Bank of version 3" not in without


def spelled(members: dict[str, Any]) -> dict[str, Any]:
    return {to_pascal(name): value for name, value in members.items()}


def test_unified_accounts_of_version_3_are_built_by_its_rows(bank: ThirdBank) -> None:
    bank.side.answers["/v3_account_list"] = lambda sent: {"Accounts": [spelled(ACCOUNT)]}

    answer = bank.unified("GET", "accounts?native=1", bank.bearer("accounts"))

    expected = {
        "account_id": "A-1",
        "name": "Compte courant",
        "currency": "EUR",
        "iban": IBAN,
        "bban": None,
        "sort_code": "202015",
        "account_number": "55555555",
        "payment_schemes": None,
    }
    assert (answer.status, answer.body["bic"], answer.body["problems"]) == (200, BIC, [])
    assert answer.body["accounts"] == [{**expected, "native": ACCOUNT}]


def test_unified_balances_of_version_3_are_built_by_its_rows(bank: ThirdBank) -> None:
    rows = [{"Balance": "-12.50", "Unit": "EUR", "Kind": "BOOK"}, {"Balance": 7, "Unit": "EUR"}]
    bank.side.answers["/v3_funds_of_account"] = lambda sent: {"Rows": rows}

    answer = bank.unified("GET", "balances?account_id=A-1", bank.bearer("accounts.balances"))

    balance = {
        "type": "booked",
        "native_type": "BOOK",
        "amount": {"value": "-12.50", "currency": "EUR"},
        "as_of": None,
        "credit_limit_included": None,
    }
    problem = {"position": "rows[1]", "member": "kind", "reason": "is required"}
    assert bank.sent("/v3_funds_of_account") == {"account": "A-1"}
    assert (answer.body["balances"], answer.body["problems"]) == ([balance], [problem])


def test_unified_transactions_of_version_3_are_built_by_its_rows(bank: ThirdBank) -> None:
    common = {"Sum": "-42.90", "Unit": "EUR", "Day": "2026-01-30", "Purpose": "Invoice 17"}
    shop = {"Holder": "Corner Shop", "Iban": PAYEE_IBAN}
    entries = [{**common, "Ref": 8, "Open": True}, {**common, "Ref": 7, "Open": False, "Payee": shop}]
    bank.side.answers["/v3_entries"] = lambda sent: {"Entries": entries, "NextRef": 7}
    bearer = bank.bearer("accounts.transactions")

    answer = bank.unified("GET", "transactions?account_id=A-1&limit=2", bearer)
    first = bank.sent("/v3_entries")
    bank.side.received.clear()
    bank.side.answers["/v3_entries"] = lambda sent: {"Entries": []}
    cursor = quote(answer.body["next_cursor"])
    last = bank.unified("GET", f"transactions?account_id=A-1&limit=2&cursor={cursor}", bearer)

    booked, pending = answer.body["transactions"]
    assert booked == {
        "stable_key": hashlib.sha256(b'["A-1","7"]').hexdigest()[:32] + ".1",
        "transaction_id": "7",
        "status": "booked",
        "direction": "debit",
        "amount": {"value": "42.90", "currency": "EUR"},
        "date": "2026-01-30",
        "booking_date": "2026-01-30",
        "value_date": None,
        "counterparty": {
            "name": "Corner Shop",
            "iban": PAYEE_IBAN,
            **dict.fromkeys(("bban", "sort_code", "account_number", "bic")),
        },
        "remittance": {"unstructured": "Invoice 17", "reference": None, "reference_type": None},
    }
    assert (pending["transaction_id"], pending["status"]) == ("8", "pending")
    assert {*pending["counterparty"].values()} == {None}
    assert first == {"account": "A-1", "count": 2}
    assert bank.sent("/v3_entries") == {"account": "A-1", "count": 2, "after": "7"}
    assert (last.body["transactions"], last.body["next_cursor"]) == ([], None)


def unified_order(bank: ThirdBank, **creditor: str) -> dict[str, Any]:
    return {
        "debtor": {"iban": IBAN},
        "creditor": {"name": "Corner Shop"} | creditor,
        "amount": {"value": "12.50", "currency": "EUR"},
        "remittance": {"unstructured": "Invoice 17"},
        "callback_url": bank.causeway.tpp.client.callback_url,
    }


def test_a_unified_payment_of_version_3_is_sent_and_queried_by_its_rows(bank: ThirdBank) -> None:
    bearer = bank.bearer("payments.single")
    bank.side.answers["/v2_payment_single_status"] = lambda sent: {"TransactionStatus": "HELD"}

    taken = bank.unified("POST", "payments", bearer, unified_order(bank, iban=PAYEE_IBAN))
    asked = bank.unified("GET", "payments?payment_id=4711", bearer)

    assert (taken.status, taken.body) == (
        200,
        {
            "payment_id": "4711",
            "confirmation_url": "https://bank.example/confirm",
            "status": "pending",
            "native_status": "RCVD",
        },
    )
    assert bank.sent("/v3_payment") == {
        "sender_iban": IBAN,
        "payee_holder": "Corner Shop",
        "payee_iban": PAYEE_IBAN,
        "sum": "12.50",
        "unit": "EUR",
        "purpose": "Invoice 17",
        "payment_scheme": "SCT",
        "callback_url": bank.causeway.tpp.client.callback_url,
    }
    assert [asked.body[name] for name in ("kind", "status", "is_final", "native_status")] == [
        "single",
        "authorising",
        False,
        "HELD",
    ]


def test_a_unified_payment_that_version_3_cannot_carry_is_refused_by_its_rows(bank: ThirdBank) -> None:
    order = unified_order(bank, name="x" * 31, bban="1")

    refused = bank.unified("POST", "payments", bank.bearer("payments.single"), order)

    assert (refused.status, refused.body["reason_code"]) == (400, "not_at_this_bank")
    assert [each["details"] for each in refused.body["additionalErrors"]] == [
        "creditor.name must have at most 30 characters at banks of version 3",
        "creditor.iban is required at banks of version 3",
        f"creditor.bban cannot be sent: {ACCOUNT_TAKEN}",
    ]
    assert bank.side.received == []


def test_unified_funds_of_version_3_are_confirmed_by_its_rows(bank: ThirdBank) -> None:
    bank.side.answers["/v3_cover"] = lambda sent: {"FundsAvailable": True}
    bearer = bank.bearer("funds_confirmations")
    amount = {"value": "12.50", "currency": "EUR"}

    answer = bank.unified(
        "POST", "funds_confirmations", bearer, {"account": {"iban": IBAN, "account_id": "A-1"}, "amount": amount}
    )
    refused = bank.unified("POST", "funds_confirmations", bearer, {"account": {"account_id": "A-1"}, "amount": amount})

    assert (answer.status, answer.body["funds_available"]) == (200, True)
    assert bank.sent("/v3_cover") == {"payer_iban": IBAN, "cover": ["12.50"], "unit": "EUR"}
    assert (refused.status, refused.body["reason_code"]) == (400, "not_at_this_bank")
