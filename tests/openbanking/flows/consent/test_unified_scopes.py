"""Tests of unified scopes in authorizations: their translation, their refusals, and the names in answers."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.records.authorization_requests import TABLE, authorization_key, compute_authorization_id
from chalicelib.openbanking.records.bank_record import NewBank
from chalicelib.openbanking.records.consents import consent_key
from tests.causeway import Answer, Causeway
from tests.kit.storage import record_calls
from tests.openbanking.examples import UNIFIED_SCOPES
from tests.openbanking.key_holder import CHALLENGE, VERIFIER, open_pushed
from tests.openbanking.kit import URL, VERSIONS, Bank, Consented, scopes_in

OTHER = "GAMMDE2L"
EACH_SCOPE = pytest.mark.parametrize("name", UNIFIED_SCOPES)
EVERY = [*UNIFIED_SCOPES]
NATIVE = {
    version: [*dict.fromkeys(native for row in UNIFIED_SCOPES.values() for native in row[version])]
    for version in (1, 2)
}
"""The translation of all unified scopes, without repeats."""


@pytest.fixture
def other(causeway: Causeway) -> Iterator[Bank]:
    """Register a bank of version 1, which a test may change to version 2."""
    like = causeway.banks[2]
    new = NewBank(
        bic=OTHER,
        name="Gamma",
        country="DE",
        api_version=1,
        domain="http://127.0.0.1:1/gamma",
        authorization_url="http://127.0.0.1:1/gamma/authorize",
        public_keys=like.record.public_keys,
    )
    registered, api_key = causeway.hub.openbanking.banks.add(new)
    bank = Bank(registered, api_key, like.key)
    bank.causeway = causeway
    yield bank
    causeway.hub.openbanking.banks.remove(OTHER)


def change_version(bank: Bank) -> None:
    """Change a bank to version 2, as an operator does."""
    bank.causeway.hub.openbanking.banks.change(bank.bic, api_version=2, scopes=(), schemes=())
    bank.version = 2


def authorize(causeway: Causeway, version: int, *scopes: str, **members: Any) -> Answer:
    """Start an authorization with ``POST /tpp/authorize``."""
    body = {"bic": causeway.banks[version].bic, "scopes": [*scopes], **members}
    return causeway.tpp.call("POST", "/tpp/authorize", body)


def push(causeway: Causeway, bic: str | None, *scopes: str, **members: str) -> Answer:
    """Push an authorization request."""
    form = {"response_type": "code", "scope": " ".join(scopes), "state": "s", **members}
    return causeway.tpp.call("POST", "/oauth/par", form=form | ({"bic": bic} if bic else {}))


def browse(causeway: Causeway, bic: str | None, *scopes: str, **members: str) -> Answer:
    """Start an authorization in the browser."""
    query = {
        "response_type": "code",
        "client_id": causeway.tpp.client_id,
        "redirect_uri": causeway.tpp.client.callback_url,
        "scope": " ".join(scopes),
        "state": "s",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        **members,
    }
    return causeway.call("GET", f"/oauth/authorize?{urlencode(query | ({'bic': bic} if bic else {}))}")


def choose(causeway: Causeway, bic: str, *scopes: str) -> str:
    """Choose a bank for a request in the browser. Return the address of the redirect."""
    return browse(causeway, None, *scopes, chosen_bic=bic).headers["location"]


def start(causeway: Causeway, version: int, way: str, *scopes: str) -> str:
    """Start an authorization in one of the four ways. Return the URL at the bank."""
    bic = causeway.banks[version].bic
    if way == "client":
        url: str = authorize(causeway, version, *scopes).body["redirect_url"]
        return url
    if way == "pushed":
        return open_pushed(causeway, push(causeway, bic, *scopes).body["request_uri"]).headers["location"]
    return choose(causeway, bic, *scopes) if way == "chosen" else browse(causeway, bic, *scopes).headers["location"]


EACH_WAY = pytest.mark.parametrize("way", ["client", "pushed", "browser", "chosen"])


def returned(answer: Answer) -> dict[str, str]:
    """Return the parameters of a redirect to the client."""
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


def is_error_page(answer: Answer, row: refusals.RefusalRow) -> bool:
    return answer.status == 400 and row().message[1:] in answer.text


def tokens_of(causeway: Causeway, consented: Consented, **members: str) -> Any:
    return causeway.tpp.call("POST", "/tpp/token", {"code": consented.query["code"], **members}).body


# -- what the bank gets


@VERSIONS
@EACH_SCOPE
def test_the_bank_receives_native_scopes_for_a_unified_scope(causeway: Causeway, version: int, name: str) -> None:
    bank, native = causeway.banks[version], UNIFIED_SCOPES[name][version]
    url = authorize(causeway, version, name).body["redirect_url"]

    asked = bank.call("/init_authorization", {URL[version]: url})

    assert scopes_in(url) == native
    assert asked.body["scopes"] == native
    assert bank.call("/consent", bank.consent_body(url, scopes=native)).status == 200


@VERSIONS
@EACH_WAY
def test_unified_scopes_are_translated_without_repeats_in_every_way_of_authorizing(
    causeway: Causeway, version: int, way: str
) -> None:
    url = start(causeway, version, way, *EVERY)

    assert url.startswith(causeway.banks[version].record.authorization_url)
    assert scopes_in(url) == NATIVE[version]


@VERSIONS
def test_a_bank_cannot_approve_unified_scopes(causeway: Causeway, version: int) -> None:
    bank = causeway.banks[version]
    url = authorize(causeway, version, "accounts:read").body["redirect_url"]

    answer = bank.call("/consent", bank.consent_body(url, scopes=["accounts:read"]))

    assert answer.status == 400


@EACH_WAY
def test_unified_scopes_need_no_more_storage_calls_than_native_scopes(causeway: Causeway, way: str) -> None:
    start(causeway, 2, way, "accounts.balances")
    causeway.forget_journeys()
    counts = []
    for name in ("accounts", "accounts:read"):
        with record_calls(causeway) as calls:
            start(causeway, 2, way, name)
        counts.append([*calls])
        causeway.forget_journeys()

    assert counts[0] == counts[1]


# -- refusals

MIXTURES = pytest.mark.parametrize(
    "scopes", [("accounts:read", "accounts"), ("account.list", "balances:read"), ("accounts:read", "unknown")], ids=str
)


def test_all_places_refuse_a_mixture_of_unified_and_native_scopes_with_one_sentence() -> None:
    assert refusals.SCOPES_MIXED().message == "scopes must be either all unified or all native"
    assert refusals.SCOPES_MIXED().fault == refusals.SCOPES_OF_NO_VERSION().fault
    assert refusals.SCOPES_MIXED().oauth_error == refusals.SCOPES_OF_NO_VERSION().oauth_error


@VERSIONS
@MIXTURES
def test_authorize_refuses_a_mixture_of_unified_and_native_scopes(
    causeway: Causeway, version: int, scopes: tuple[str, ...]
) -> None:
    answer = authorize(causeway, version, *scopes)

    assert (answer.status, answer.body["code"]) == (400, "FORMAT_ERROR")
    assert [each["code"] for each in answer.body["additionalErrors"]] == ["AUTHORIZATION_SCOPE_NOT_CORRECT"]
    assert answer.body["title"] == refusals.SCOPES_MIXED().message


@pytest.mark.parametrize("bic", ["ALPHGB21", "BETADEF1", None])
@MIXTURES
def test_oauth_calls_refuse_a_mixture_with_invalid_scope(
    causeway: Causeway, bic: str | None, scopes: tuple[str, ...]
) -> None:
    pushed, browsed = push(causeway, bic, *scopes), browse(causeway, bic, *scopes)

    assert (pushed.status, pushed.body["error"]) == (400, "invalid_scope")
    assert pushed.body["error_description"] == refusals.SCOPES_MIXED().message
    assert (browsed.status, returned(browsed)["error"]) == (303, "invalid_scope")
    assert browsed.headers["location"].startswith(causeway.tpp.client.callback_url)
    assert [*causeway.hub.store.scan(TABLE)] == []


@pytest.mark.parametrize(
    "change",
    [{"scopes": ["account.list"]}, {"scopes": ["account.details", "account.balance"]}],
    ids=lambda change: ",".join(change["scopes"]),
)
def test_a_bank_without_the_whole_translation_refuses_the_unified_scope(
    causeway: Causeway, other: Bank, change: dict[str, Any]
) -> None:
    causeway.hub.openbanking.banks.change(OTHER, **change)

    answer = causeway.tpp.call("POST", "/tpp/authorize", {"bic": OTHER, "scopes": ["accounts:read"]})

    assert (answer.status, answer.body["title"]) == (400, refusals.SCOPES_NOT_PROVIDED().message)
    assert answer.body["additionalErrors"][0]["code"] == "AUTHORIZATION_SCOPE_NOT_CORRECT"
    for refused in (push(causeway, OTHER, "accounts:read"), browse(causeway, OTHER, "accounts:read")):
        text = refused.body["error"] if refused.status == 400 else returned(refused)["error"]
        assert text == "invalid_scope"
    assert returned(browse(causeway, None, "accounts:read", chosen_bic=OTHER))["error"] == "invalid_scope"


def test_a_repeated_unified_scope_is_refused(causeway: Causeway) -> None:
    answer = authorize(causeway, 1, "accounts:read", "accounts:read")

    assert (answer.status, answer.body["title"]) == (400, refusals.SCOPES_REPEATED().message)


@pytest.mark.parametrize("bic", ["ALPHGB21", "BETADEF1", None])
@pytest.mark.parametrize("name", EVERY)
def test_one_time_consents_accept_unified_payment_scopes_only(causeway: Causeway, bic: str | None, name: str) -> None:
    is_payment = name in ("payments:write", "bulk_payments:write")

    alone = push(causeway, bic, name, consent_type="one_time")
    together = push(causeway, bic, "payments:write", "accounts:read", consent_type="one_time")

    assert alone.status == (201 if is_payment else 400)
    assert (together.status, together.body["error"]) == (400, "invalid_scope")
    assert returned(browse(causeway, bic, "accounts:read", consent_type="one_time"))["error"] == "invalid_scope"


# -- the names in answers


@VERSIONS
@EACH_WAY
def test_answers_repeat_the_unified_scopes_of_the_request(causeway: Causeway, version: int, way: str) -> None:
    names = ["funds:read", "accounts:read", "bulk_payments:write"]
    consented = causeway.psu.approve_url(version, start(causeway, version, way, *names))
    verifier = {} if way in ("client", "pushed") else {"code_verifier": VERIFIER}
    uri = {"redirect_uri": causeway.tpp.client.callback_url} if verifier else {}

    first = tokens_of(causeway, consented, **verifier, **uri)
    second = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]}).body
    repeated = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": first["refresh_token"]}).body

    assert [each["scope"] for each in (first, second, repeated)] == [" ".join(names)] * 3
    for token in (second["access_token"], second["refresh_token"]):
        described = causeway.tpp.call("POST", "/oauth/introspect", form={"token": token}).body
        assert (described["active"], described["scope"]) == (True, " ".join(names))
        assert "unified_scopes" not in described


VERSION_SCOPES = [
    (1, ["accounts:read"], ["accounts:read"]),
    (2, ["accounts:read"], ["accounts:read"]),
    (1, ["payments:write"], ["payments:write", "bulk_payments:write"]),
    (2, ["payments:write"], ["payments:write"]),
    (1, ["account.details", "account.list", "account.balance"], ["accounts:read", "balances:read"]),
    (2, ["accounts.transactions", "accounts"], ["accounts:read", "transactions:read"]),
    (1, ["account.list"], []),
    (1, ["account.payment"], []),
    (1, EVERY, EVERY),
    (2, EVERY, EVERY),
]


@pytest.mark.parametrize(("version", "requested", "granted"), VERSION_SCOPES)
def test_answers_and_the_event_list_the_unified_scopes_that_are_granted_entirely(
    causeway: Causeway, version: int, requested: list[str], granted: list[str]
) -> None:
    causeway.tpp.set_events_url()
    consented = causeway.psu.approve(version, scopes=requested)
    tokens = tokens_of(causeway, consented)
    refreshed = causeway.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]}).body

    consent = causeway.tpp.call("GET", "/tpp/consent", bearer=refreshed["access_token"]).body
    (listed,) = causeway.tpp.call("GET", "/tpp/consents").body["consents"]
    (event,) = causeway.recorded("event")
    causeway.hub.delivery.worker.attempt(event.delivery_id)
    data = causeway.receiver.events[-1]["data"]

    assert [each["unified_scopes"] for each in (tokens, refreshed, consent, listed, data)] == [granted] * 5
    native = scopes_in(consented.request_url)
    assert [each["scopes"] for each in (consent, listed, data)] == [native] * 3
    assert tokens["scope"] == " ".join(requested)


@pytest.mark.parametrize(
    ("scopes", "offered"),
    [
        ((), EVERY),
        (("account.list",), []),
        (("account.balance", "payment.init"), ["balances:read", "payments:write", "bulk_payments:write"]),
    ],
)
def test_bank_answers_list_the_unified_scopes_that_are_offered_entirely(
    causeway: Causeway, other: Bank, scopes: tuple[str, ...], offered: list[str]
) -> None:
    causeway.hub.openbanking.banks.change(OTHER, scopes=scopes)

    scope = causeway.tpp.call("GET", f"/tpp/scope?bic={OTHER}").body
    bank = causeway.tpp.call("GET", f"/tpp/banks/{OTHER}").body
    (listed,) = causeway.tpp.call("GET", "/tpp/banks?q=gamma").body["banks"]

    assert [each["unified_scopes"] for each in (scope, bank, listed)] == [offered] * 3
    native = [each["scope"] for each in scope["scopes"]]
    assert bank["scopes"] == listed["scopes"] == native
    assert set(scopes) <= set(native)
    assert not set(native) & set(UNIFIED_SCOPES)


@pytest.mark.parametrize("name", EVERY)
def test_the_scope_filter_finds_the_banks_that_offer_the_whole_translation(
    causeway: Causeway, other: Bank, name: str
) -> None:
    def found() -> list[str]:
        return [bank["bic"] for bank in causeway.tpp.call("GET", f"/tpp/banks?scope={name}").body["banks"]]

    assert found() == ["ALPHGB21", "BETADEF1", OTHER]
    causeway.hub.openbanking.banks.change(OTHER, scopes=["account.list", "account.payment"])
    assert found() == ["ALPHGB21", "BETADEF1"]


@pytest.mark.parametrize("document", ["oauth-authorization-server", "oauth-protected-resource"])
def test_metadata_lists_unified_and_native_scopes(causeway: Causeway, document: str) -> None:
    supported = causeway.call("GET", f"/.well-known/{document}").body["scopes_supported"]

    native = [scope["scope"] for bic in ("ALPHGB21", "BETADEF1") for scope in scopes_at(causeway, bic)]
    assert supported == [*EVERY, *native]


def scopes_at(causeway: Causeway, bic: str) -> Any:
    return causeway.tpp.call("GET", f"/tpp/scope?bic={bic}").body["scopes"]


@VERSIONS
def test_a_consent_with_native_scopes_allows_unified_calls(causeway: Causeway, version: int) -> None:
    bearer = causeway.tpp.tokens(version)["access_token"]
    path = "/accounts" if version == 1 else "/v2_accounts"
    causeway.banks[version].answers[path] = lambda _: {"status": "success", "accounts": []}

    answer = causeway.tpp.call("GET", "/tpp/unified/accounts", bearer=bearer)

    assert (answer.status, answer.body["accounts"]) == (200, [])


# -- the same request again


def test_a_reload_of_a_request_with_unified_scopes_repeats_the_redirect(causeway: Causeway) -> None:
    first, again = (browse(causeway, "ALPHGB21", "accounts:read").headers["location"] for _ in range(2))

    assert first == again
    assert len([*causeway.hub.store.scan(TABLE)]) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [("accounts:read", "account.list account.details"), ("account.list account.details", "accounts:read")],
)
def test_the_same_state_with_the_other_names_of_the_same_scopes_is_refused(
    causeway: Causeway, before: str, after: str
) -> None:
    browse(causeway, "ALPHGB21", *before.split())

    answer = browse(causeway, "ALPHGB21", *after.split())

    assert returned(answer)["error_description"] == refusals.STATE_USED().message


def test_the_choice_of_a_bank_of_the_other_version_translates_unified_scopes_anew(causeway: Causeway) -> None:
    first = choose(causeway, "ALPHGB21", "accounts:read", "payments:write")
    second = choose(causeway, "BETADEF1", "accounts:read", "payments:write")

    assert scopes_in(first) == ["account.list", "account.details", "payment.init"]
    assert scopes_in(second) == ["accounts", "payments.single"]
    assert second == choose(causeway, "BETADEF1", "accounts:read", "payments:write")
    refused = causeway.banks[1].call("/consent", causeway.banks[1].consent_body(first, scopes=scopes_in(first)))
    consented = causeway.psu.approve_url(2, second)
    assert refused.status == 400
    redeemed = tokens_of(causeway, consented, code_verifier=VERIFIER, redirect_uri=causeway.tpp.client.callback_url)
    assert redeemed["scope"] == "accounts:read payments:write"


@VERSIONS
def test_a_pushed_request_without_a_bank_is_translated_for_the_chosen_bank(causeway: Causeway, version: int) -> None:
    request_uri = push(causeway, None, "accounts:read", "balances:read").body["request_uri"]
    page = open_pushed(causeway, request_uri)
    query = {"client_id": causeway.tpp.client_id, "request_uri": request_uri}

    urls = []
    for seconds in (0, 100):
        causeway.clock.advance(seconds)
        chosen = urlencode(query | {"chosen_bic": causeway.banks[version].bic})
        urls.append(causeway.call("GET", f"/oauth/authorize?{chosen}").headers["location"])

    assert page.status == 200
    assert scopes_in(urls[0]) == UNIFIED_SCOPES["accounts:read"][version] + UNIFIED_SCOPES["balances:read"][version]
    assert urls[0] == urls[1]
    assert tokens_of(causeway, causeway.psu.approve_url(version, urls[0]))["scope"] == "accounts:read balances:read"


# -- a bank changes its version


def test_a_pushed_request_is_translated_for_the_version_of_the_bank_when_it_is_opened(
    causeway: Causeway, other: Bank
) -> None:
    request_uri = push(causeway, OTHER, "accounts:read", "payments:write").body["request_uri"]
    change_version(other)

    opened = [open_pushed(causeway, request_uri)]
    causeway.clock.advance(61)
    opened.append(open_pushed(causeway, request_uri))

    first, again = (answer.headers["location"] for answer in opened)
    assert (scopes_in(first), again) == (["accounts", "payments.single"], first)
    saved = other.call("/consent", other.consent_body(first, scopes=["accounts", "payments.single"]))
    code = dict(parse_qsl(urlsplit(saved.body["callbackUrl"]).query))["code"]
    tokens = causeway.tpp.call("POST", "/tpp/token", {"code": code}).body
    assert tokens["scope"] == "accounts:read payments:write"
    assert tokens["unified_scopes"] == ["accounts:read", "payments:write"]


@pytest.mark.parametrize("change", [{"api_version": 2, "scopes": ["accounts.balances"]}, {"scopes": ["account.list"]}])
def test_a_pushed_request_is_refused_if_the_bank_no_longer_provides_its_scopes(
    causeway: Causeway, other: Bank, change: dict[str, Any]
) -> None:
    request_uri = push(causeway, OTHER, "accounts:read").body["request_uri"]
    causeway.hub.openbanking.banks.change(OTHER, schemes=(), **change)

    assert is_error_page(open_pushed(causeway, request_uri), refusals.SCOPES_NOT_PROVIDED)


def test_a_consent_keeps_the_unified_scopes_of_its_version_if_the_bank_changes_its_version(
    causeway: Causeway, other: Bank
) -> None:
    body = {"bic": OTHER, "scopes": ["accounts:read", "bulk_payments:write"]}
    url = causeway.tpp.call("POST", "/tpp/authorize", body).body["redirect_url"]
    saved = other.call("/consent", other.consent_body(url, scopes=scopes_in(url)))
    code = dict(parse_qsl(urlsplit(saved.body["callback_url"]).query))["code"]
    change_version(other)

    tokens = causeway.tpp.call("POST", "/tpp/token", {"code": code}).body

    assert tokens["scope"] == "accounts:read bulk_payments:write"
    assert tokens["unified_scopes"] == ["accounts:read", "payments:write", "bulk_payments:write"]


# -- stored records


def test_records_of_native_requests_have_no_requested_scopes(causeway: Causeway) -> None:
    consented = causeway.psu.approve(2)
    push(causeway, "BETADEF1", "accounts")

    items = [*causeway.hub.store.scan(TABLE), *causeway.hub.store.scan("consents")]

    assert consented.query["code"]
    assert len(items) == 4
    assert not any("requested_scopes" in item or "requested_scopes" in item.get("request", {}) for item in items)


@VERSIONS
def test_a_consent_without_requested_scopes_answers_native_scopes(causeway: Causeway, version: int) -> None:
    """An instance of the version before may save the consent during an update."""
    asked = authorize(causeway, version, "accounts:read").body
    key = authorization_key(compute_authorization_id(causeway.tpp.client_id, asked["state"]))
    causeway.hub.store.update(*key, remove=["requested_scopes"])

    tokens = tokens_of(causeway, causeway.psu.approve_url(version, asked["redirect_url"]))

    item = causeway.hub.store.get(*consent_key(tokens["consent_id"])) or {}
    assert "requested_scopes" not in item
    assert tokens["scope"] == " ".join(UNIFIED_SCOPES["accounts:read"][version])
    assert tokens["unified_scopes"] == ["accounts:read"]
