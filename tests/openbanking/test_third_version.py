"""Tests of an artificial third version of the bank API. A new version needs only a registration."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from pydantic import ConfigDict
from pydantic.alias_generators import to_pascal

from chalicelib.foundation import jsontext
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.http.web import Routes
from chalicelib.openbanking.api import bank_api
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.openbanking.flows.bank.expected_reports import expected_banks
from chalicelib.openbanking.protocol import bank_calls, v2_version
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.unified_scopes import NATIVE_SCOPES
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.bank_record import InvalidBank, NewBank
from tests.causeway import Answer, Causeway
from tests.openbanking.kit import IBAN, Bank

BIC = "GAMMFRP1"
PAYMENTS = ("payments.single", "payments.bulk")
"""The native scopes of the unified scope ``payments:write`` in version 3."""
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


def error(refusal: Refusal, request_id: str, now: int) -> tuple[int, dict[str, Any]]:
    status, body = v2_version.VERSION.errors(refusal, request_id, now)
    return status, {name[0].upper() + name[1:]: value for name, value in body.items()}


WEBHOOKS = replace(
    v2_version.load_webhooks(),
    relayed={
        **v2_version.VERSION.relayed,
        "accounts": replace(v2_version.VERSION.relayed["accounts"], path="/v3_account_list"),
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
)
"""Version 2 with another prefix, PascalCase, a renamed webhook and no daily reports."""


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
        self.side.answers["/v2_payment_single"] = lambda sent: {
            "Status": "RCVD",
            "ConfirmationUrl": "https://bank.example/confirm",
            "PaymentId": 4711,
        }
        order = {
            "debtor_account": {"iban": IBAN},
            "creditor_account": {"iban": "DE89370400440532013000"},
            "instructed_amount": {"amount": "12.50", "currency": "EUR"},
            "callback_url": self.causeway.tpp.client.callback_url,
        }
        return self.causeway.tpp.call("POST", "/tpp/payment_initiation", order, bearer=bearer)


@pytest.fixture
def bank(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThirdBank]:
    import app  # before the version is registered, so that it is the application of every test

    known = set(app.app.routes)
    monkeypatch.setitem(cast(dict[int, Version], VERSIONS), THIRD.number, THIRD)
    row = {"accounts:read": ("accounts",), "payments:write": PAYMENTS}
    monkeypatch.setitem(cast(dict[int, Any], NATIVE_SCOPES), THIRD.number, row)
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
    (sent,) = [each for each in bank.side.received if each.path == "/v2_payment_single"]
    assert jsontext.loads(sent.body)["payment_scheme"] == "SCT"
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
    refused = tpp.call("POST", "/tpp/authorize", {"bic": BIC, "scopes": ["balances:read"]})
    with_row, without = (
        bank.causeway.call("GET", f"/oauth/authorize?{urlencode(query | {'scope': name})}").text
        for name in ("payments:write", "balances:read")
    )

    assert listed["unified_scopes"] == ["accounts:read", "payments:write"]
    assert (refused.status, refused.body["additionalErrors"][0]["code"]) == (400, "AUTHORIZATION_SCOPE_NOT_CORRECT")
    assert "Bank of version 3" in with_row
    assert "Bank of version 3" not in without
