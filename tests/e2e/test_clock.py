"""The effects of clock advances on the whole stack. The tests share one clock, and each test advances it further."""

import json
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import requests

from chalicelib import bootstrap
from chalicelib.cards.protocol.schemes import SCT, SEPA
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.protocol.oauth_security import ASSERTION_TYPE
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.event_receiver import EventReceiver, listen
from infra.local.summary import summary_rows
from infra.psu_browser import Browser, approve_consent, confirm_payment
from tests.cards.cases import of_new_card
from tests.cards.issuer import EUR, HOLDER_BLOCK
from tests.e2e.parties import Journey, ProgrammeManager, Tpp, TppWithSecret, WebBrowser, at_once, bearer
from tests.e2e.separate_stack import SeparateStack, separate_stack
from tests.kit.time import PATIENCE_SECONDS
from tests.openbanking.key_holder import CHALLENGE, VERIFIER, KeyHolder, hashed

pytestmark = pytest.mark.e2e
DAY = 24 * 3600
CONSENT_DAYS = 55
"""The lifetime of consents in days. The lifetime exceeds the sum of the clock advances in all other tests by one week.
"""


@pytest.fixture(scope="module")
def ending() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


@pytest.fixture(scope="module")
def own_stack(ending: ExitStack, python: Path, tmp_path_factory: pytest.TempPathFactory) -> SeparateStack:
    return ending.enter_context(separate_stack(tmp_path_factory.mktemp("clock"), python=python))


@pytest.fixture(scope="module")
def stack(own_stack: SeparateStack) -> dict[str, Any]:
    return own_stack.content


@pytest.fixture(scope="module")
def receiver() -> Iterator[EventReceiver]:
    with listen() as receiving:
        yield receiving


@pytest.fixture(scope="module")
def told(own_stack: SeparateStack, receiver: EventReceiver) -> Tpp:
    made = add_client(own_stack, "--events-url", receiver.url)
    receiver.secret = made["events_secret"]
    return Tpp(own_stack.content["base_url"], made["client_id"], own_stack.content["client"]["callback_url"])


@dataclass(frozen=True)
class Lasting:
    """A TPP that fetches events, with the tokens of one consent per bank and the clock offset at the issuance of the
    tokens.
    """

    tpp: Tpp
    tokens: list[Any]
    offset_seconds: int


@pytest.fixture(scope="module", autouse=True)
def lasting(own_stack: SeparateStack) -> Lasting:
    """Advance the clock by only one minute, after which the service has read the banks' new ``consent_days``, and
    request consents.
    """
    made, content = add_client(own_stack, "--events", "poll", "--secret"), own_stack.content
    with pytest.MonkeyPatch.context() as patch:
        for bank in banks(content):
            operate(content, patch).openbanking.banks.change(bank["bic"], consent_days=CONSENT_DAYS)
    moved = own_stack.advance("PT1M")["offset_seconds"]
    callback = content["client"]["callback_url"]
    tpp = TppWithSecret(content["base_url"], made["client_id"], made["client_secret"], callback)
    return Lasting(tpp, [tpp.redeem(tpp.journey(bank).code).json() for bank in banks(content)], moved)


def operate(content: Mapping[str, Any], patch: pytest.MonkeyPatch) -> bootstrap.Hub:
    for name, value in content["environment"].items():
        patch.setenv(name, value)
    return bootstrap.Hub(Settings.from_environment(content["environment"]))


def add_client(own_stack: SeparateStack, *options: str) -> Any:
    owner = own_stack.content["user"]["email"]
    made = own_stack.admin("clients", "add", "--owner", owner, "--title", "Patient", *options)
    return {**made, "client_id": made["client"]["client_id"]}


def banks(stack: Mapping[str, Any], kind: str = "banks") -> list[Any]:
    found: list[Any] = stack[kind]
    assert {bank["api_version"] for bank in found} == set(VERSIONS)
    return found


def tokens_of_everything(tpp: Tpp, bank: Mapping[str, Any]) -> Any:
    answer = tpp.redeem(tpp.journey(bank, list(VERSIONS[bank["api_version"]].scopes)).code)
    assert answer.status_code == 200, answer.text
    return answer.json()


def pay_directly(tpp: Tpp, bank: Mapping[str, Any], reference: str) -> str:
    version = bank["api_version"]
    order = tpp.direct_payment(bank) | {"payment_scheme": {1: "BACS", 2: "SCT"}[version]}
    order |= {{1: "reference", 2: "remittance_information_unstructured"}[version]: reference}
    begun = tpp.call("POST", "/tpp/direct_payment_initiation", order)
    assert begun.status_code == 200, begun.text
    back = confirm_payment(Browser(f"{tpp.base}/payments/callback", lambda *_: None), begun.json()["confirmation_url"])
    return parse_qs(urlsplit(back).query)["payment_id"][0]


def status_of(tpp: Tpp, bank: Mapping[str, Any], payment_id: str) -> Any:
    query = urlencode({"payment_id": payment_id, "bic": bank["bic"]})
    found = tpp.call("GET", f"/tpp/payment_status?{query}").json()
    return found.get("payment_status", found.get("transaction_status"))


def test_an_access_token_expires_after_an_hour_and_can_be_refreshed(
    own_stack: SeparateStack, tpp: Tpp, journey: Journey
) -> None:
    tokens = tpp.redeem(journey.code).json()
    own_stack.advance("PT59M")
    before = tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"])

    own_stack.advance("PT1M")
    after = tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"])

    assert (before.status_code, after.status_code) == (200, 401)
    fresh = tpp.refresh(tokens["refresh_token"]).json()
    assert tpp.call("GET", "/tpp/accounts", bearer=fresh["access_token"]).status_code == 200


@pytest.mark.parametrize(
    ("version", "reference", "confirmed", "ended"),
    [(2, "Order 1042", "ACSP", "ACSC"), (2, "TEST-LATE-REJECT", "ACSP", "RJCT"), (1, "TEST-LATE-REJECT", 1, 2)],
)
def test_a_confirmed_payment_is_final_after_20_seconds_and_the_tpp_receives_an_event(
    own_stack: SeparateStack,
    told: Tpp,
    receiver: EventReceiver,
    version: int,
    reference: str,
    confirmed: Any,
    ended: Any,
) -> None:
    bank = next(bank for bank in banks(own_stack.content) if bank["api_version"] == version)
    payment_id = pay_directly(told, bank, reference)
    before = status_of(told, bank, payment_id)

    own_stack.advance("PT20S")

    name = {1: "payment_status", 2: "transaction_status"}[version]
    receiver.wait_for_event("payment.status_changed", payment_id=payment_id, **{name: ended})
    assert (before, status_of(told, bank, payment_id)) == (confirmed, ended)


def test_a_bank_revokes_a_consent_after_a_day(own_stack: SeparateStack, told: Tpp, receiver: EventReceiver) -> None:
    customers = [(bank, bearer(told, bank, "revokes-after-a-day")) for bank in banks(own_stack.content, "fault_banks")]
    assert [read_status(told, token) for _, token in customers] == [200, 200]
    consents = [told.call("GET", "/tpp/consent", bearer=token).json()["consent_id"] for _, token in customers]

    own_stack.advance("P1D")

    assert [read_status(told, token) for _, token in customers] == [401, 401]
    for consent_id in consents:
        receiver.wait_for_event("consent.revoked", consent_id=consent_id, revoked_by="bank")


def read_status(tpp: Tpp, token: str) -> int:
    return tpp.call("GET", "/tpp/accounts", bearer=token).status_code


def test_a_card_hold_is_released_after_7_days_and_the_ledger_remains_valid(own_stack: SeparateStack) -> None:
    manager = ProgrammeManager(own_stack.content)
    card = manager.data("createCard", **of_new_card(card_currency_ison=[EUR], **HOLDER_BLOCK))
    manager.data("activateCard", card_id=card["card_id"])
    address = {"account_id": card["account_id"], "epm_method_id": SEPA, "currency_ison": EUR}
    (opened,) = manager.data("assignExternalPaymentAddress", **address)
    salary = {"amount": 10_000, "currency_ison": EUR, "scheme": SCT, "sender_name": "Meadow Ltd"}
    manager.simulated("simulateInboundPayment", epm_address_id=opened["id"], **salary)
    purchase = {"card_id": card["card_id"], "transaction_type": 0, "amount": 4_590, "currency_ison": EUR}

    held = manager.simulated("simulateAuthorization", **purchase)
    own_stack.advance("P6DT23H")
    still_held = available(manager, card)
    own_stack.advance("PT1H")

    assert held["response_code"] == "00"
    assert still_held == held["available_balance"]
    assert available(manager, card) == 10_000
    assert own_stack.log_lines("holds released")[-1]["holds"] >= 1
    proven = own_stack.admin("ledger", "verify")
    assert proven["good"] is True
    assert proven["accounts"] >= 1


def available(manager: ProgrammeManager, card: Mapping[str, Any]) -> int:
    accounts = manager.data("getHolderAccounts", holder_id=card["holder_id"])
    return int(next(account["available_balance"] for account in accounts if account["id"] == card["account_id"]))


def test_the_reserved_amount_of_a_pending_payment_is_released_after_30_days(own_stack: SeparateStack, tpp: Tpp) -> None:
    for bank in banks(own_stack.content):
        pay_directly(tpp, bank, "TEST-PENDING")
    before = [is_reserved(tpp, bank) for bank in banks(own_stack.content)]

    own_stack.advance("P29D")
    meanwhile = [is_reserved(tpp, bank) for bank in banks(own_stack.content)]
    own_stack.advance("P1D")

    assert (before, meanwhile) == ([True, True], [True, True])
    assert [is_reserved(tpp, bank) for bank in banks(own_stack.content)] == [False, False]


def is_reserved(tpp: Tpp, bank: Mapping[str, Any]) -> bool:
    token = tokens_of_everything(tpp, bank)["access_token"]
    account = tpp.call("GET", "/tpp/accounts", bearer=token).json()["accounts"][0]
    named = f"account_id={account.get('id') or account['resource_id']}"
    call = {1: "account_payments?", 2: "account_transactions?booking_status=pending&"}[bank["api_version"]]
    answer = tpp.call("GET", f"/tpp/{call}{named}", bearer=token)
    assert answer.status_code == 200, answer.text
    return "TEST-PENDING" in answer.text


def test_signatures_proofs_and_sessions_use_real_time_after_a_clock_advance(
    own_stack: SeparateStack, operator: bootstrap.Hub, told: Tpp, receiver: EventReceiver
) -> None:
    content, window = own_stack.content, WebBrowser(own_stack.content["base_url"])
    shown = window.get("/sign-in")
    user = content["user"]
    assert window.post("/sign-in", shown, email=user["email"], password=user["password"]).status_code == 303
    holder = KeyHolder()
    made = operator.openbanking.clients.create(
        owner=user["email"],
        title="Key holder",
        callback_urls=[told.callback],
        security={"auth_method": "private_key_jwt", "jwks": holder.jwks, "dpop_bound_access_tokens": True},
    )

    own_stack.advance("P1D")

    keyed = Tpp(told.base, made.client.client_id, told.callback)
    for bank in banks(content):
        use_bound_tokens(keyed, holder, bank)
        consent = told.call("GET", "/tpp/consent", bearer=tokens_of_everything(told, bank)["access_token"]).json()[
            "consent_id"
        ]
        receiver.wait_for_event("consent.authorised", consent_id=consent)
    page = window.session.get(f"{window.base}/clients", timeout=PATIENCE_SECONDS, allow_redirects=False)
    assert page.status_code == 200
    assert "Key holder" in page.text


def use_bound_tokens(tpp: Tpp, holder: KeyHolder, bank: Mapping[str, Any]) -> None:
    """Run a journey with client assertions and DPoP proofs, which are created and verified in real time."""
    asked = {
        "response_type": "code",
        "client_id": tpp.client_id,
        "bic": bank["bic"],
        "scope": " ".join(VERSIONS[bank["api_version"]].scopes),
        "redirect_uri": tpp.callback,
        "state": uuid.uuid4().hex,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
    }
    url = f"{tpp.base}/oauth/authorize?{urlencode(asked)}"
    callback = approve_consent(Browser(tpp.callback, lambda *_: None), url)
    code = parse_qs(urlsplit(callback).query)["code"][0]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": tpp.callback, "code_verifier": VERIFIER}
    claims = {"iss": tpp.client_id, "sub": tpp.client_id, "aud": tpp.base, "jti": uuid.uuid4().hex}
    assertion = holder.sign(claims | {"iat": int(time.time()), "exp": int(time.time()) + 60}, {"kid": holder.kid})
    form |= {"client_assertion_type": ASSERTION_TYPE, "client_assertion": assertion}
    with requests.Session() as session:
        session.trust_env = False
        proof = {"DPoP": prove(holder, "POST", f"{tpp.base}/tpp/token")}
        tokens = session.post(f"{tpp.base}/tpp/token", data=form, headers=proof, timeout=PATIENCE_SECONDS).json()
        assert tokens["token_type"] == "DPoP", tokens
        token, place = tokens["access_token"], f"{tpp.base}/tpp/accounts"
        sent = {"Authorization": f"DPoP {token}", "DPoP": prove(holder, "GET", place, ath=hashed(token))}
        read = session.get(place, headers=sent | {"X-Api-Key": tpp.client_id}, timeout=PATIENCE_SECONDS)
    assert read.status_code == 200, read.text


def prove(holder: KeyHolder, method: str, url: str, **claims: str) -> str:
    made = {"jti": uuid.uuid4().hex, "htm": method, "htu": url, "iat": int(time.time())}
    return holder.sign(made | claims, {"typ": "dpop+jwt", "jwk": holder.public})


def test_an_expiring_event_is_sent_a_week_before_the_expiry_of_a_consent(
    own_stack: SeparateStack, lasting: Lasting
) -> None:
    tpp, tokens = lasting.tpp, lasting.tokens
    move_to(own_stack, lasting.offset_seconds + (CONSENT_DAYS - 7) * DAY - 3600)
    calm = fetch_events(tpp)

    own_stack.advance("PT1H")
    expiring = fetch_events(tpp)
    fresh = [tpp.refresh(held["refresh_token"]).json() for held in tokens]
    read = [read_status(tpp, held["access_token"]) for held in fresh]
    own_stack.advance("P7D")
    ended = fetch_events(tpp)

    consents = {held["consent_id"] for held in tokens}
    assert calm == set(), "events are kept for 30 days"
    assert expiring == {("consent.expiring", consent_id) for consent_id in consents}
    assert read == [200, 200]
    assert ended - expiring == {("consent.expired", consent_id) for consent_id in consents}
    assert [read_status(tpp, held["access_token"]) for held in fresh] == [401, 401]
    assert [tpp.refresh(held["refresh_token"]).status_code for held in fresh] == [400, 400]


def move_to(own_stack: SeparateStack, offset_seconds: int) -> None:
    own_stack.advance(f"PT{offset_seconds - own_stack.time()['offset_seconds']}S")


def fetch_events(tpp: Tpp) -> set[tuple[str, str]]:
    page = tpp.call("GET", "/tpp/events?limit=100")
    assert page.status_code == 200, page.text
    bodies = [json.loads(event["body"]) for event in page.json()["events"]]
    return {(body["type"], body["data"]["consent_id"]) for body in bodies}


def test_statistics_of_each_elapsed_day_are_recorded_and_shown(own_stack: SeparateStack) -> None:
    own_stack.advance(f"PT{hours_to_noon(own_stack)}H")
    first = datetime.now(UTC).date()
    last = business_day(own_stack) - timedelta(days=1)

    shown = own_stack.admin("statistics", "show", "--from", first.isoformat(), "--to", last.isoformat())["days"]
    rows = requests.get(
        f"{own_stack.content['base_url']}/performance",
        params={"bic": own_stack.content["banks"][0]["bic"]},
        timeout=PATIENCE_SECONDS,
    )

    found = sorted((row["aspsp_bic"], row["day"]) for row in shown)
    days = [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
    every = banks(own_stack.content) + banks(own_stack.content, "fault_banks")
    assert found == sorted((bank["bic"], day) for bank in every for day in days)
    assert {row["report"] for row in shown} == {"not_expected", "received"}
    assert rows.status_code == 200
    assert last.isoformat() in rows.text


def business_time(own_stack: SeparateStack) -> datetime:
    return datetime.fromisoformat(own_stack.time()["now"]).astimezone(UTC)


def business_day(own_stack: SeparateStack) -> date:
    return business_time(own_stack).date()


def hours_to_noon(own_stack: SeparateStack) -> int:
    """Return a number of hours after which the time is between 12:00 and 12:59.

    At night, the statistics of the previous day are not yet recorded.
    """
    return (12 - business_time(own_stack).hour) % 24 or 24


def test_an_advance_of_the_clock_changes_the_business_time_of_other_processes(own_stack: SeparateStack) -> None:
    moved = own_stack.admin("clock", "advance", f"{hours_to_noon(own_stack)}h")

    shown = own_stack.admin("clock", "show")
    latest = own_stack.admin("statistics", "show")["days"]

    assert shown["offset_seconds"] == moved["offset_seconds"] == own_stack.time()["offset_seconds"]
    assert max(row["day"] for row in latest) == (business_day(own_stack) - timedelta(days=1)).isoformat()
    assert own_stack.log_lines("clock moved")[-1]["offset_seconds"] == moved["offset_seconds"]


def body(value: object) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("content", "headers", "status", "error"),
    [
        (body({"advance": "P1D"}), {"Authorization": ""}, 401, "invalid_key"),
        (body({"advance": "P1D"}), {"Authorization": "Bearer wrong"}, 401, "invalid_key"),
        (body({"advance": "P1D"}), {"Content-Type": "application/x-www-form-urlencoded"}, 415, "invalid_request"),
        (body({"advance": "P1D"}), {"Content-Type": "text/plain"}, 415, "invalid_request"),
        (b"{", {}, 400, "invalid_request"),
        (body([]), {}, 400, "invalid_request"),
        (body({}), {}, 400, "invalid_request"),
        (body({"advance": "P1D", "back": True}), {}, 400, "invalid_request"),
        (body({"advance": 86400}), {}, 400, "invalid_request"),
        (body({"advance": "7 days"}), {}, 400, "invalid_request"),
        (body({"advance": "PT0S"}), {}, 400, "invalid_request"),
        (body({"advance": "-P1D"}), {}, 400, "invalid_request"),
        (body({"advance": "P401D"}), {}, 400, "invalid_request"),
        (body({"advance": "P400DT1S"}), {}, 400, "invalid_request"),
    ],
)
def test_an_invalid_clock_advance_changes_nothing(
    own_stack: SeparateStack, content: bytes, headers: dict[str, str], status: int, error: str
) -> None:
    before = own_stack.time()["offset_seconds"]

    answer = own_stack.post(content, headers)

    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert answer.json()["error_description"]
    assert own_stack.time()["offset_seconds"] == before


def test_the_second_of_two_simultaneous_requests_to_advance_the_clock_returns_409(own_stack: SeparateStack) -> None:
    before = own_stack.time()["offset_seconds"]

    answers = at_once(2, lambda: own_stack.move("P3D"))

    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert {answer.json().get("error") for answer in answers} == {None, "clock_busy"}
    assert own_stack.time()["offset_seconds"] == before + 3 * DAY


@pytest.mark.parametrize("span", ["0d", "401d"])
def test_an_invalid_clock_duration_is_rejected_on_the_command_line(own_stack: SeparateStack, span: str) -> None:
    before = own_stack.time()["offset_seconds"]

    refused = own_stack.command("clock", "advance", "--json", "--", span)

    assert refused.returncode == 1, refused
    assert json.loads(refused.stdout)["error"]
    assert own_stack.time()["offset_seconds"] == before


def test_the_clock_of_production_cannot_be_advanced(own_stack: SeparateStack) -> None:
    before = own_stack.time()["offset_seconds"]

    refused = own_stack.command("clock", "advance", "7d", STAGE="prod")

    assert refused.returncode == 1
    assert "the clock of the stage prod cannot be moved" in refused.stderr
    assert own_stack.time()["offset_seconds"] == before


def test_a_restarted_stack_preserves_and_reports_the_clock_offset(
    ending: ExitStack, own_stack: SeparateStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved, port = own_stack.advance("P2D"), int(own_stack.content["environment"]["PORT"])
    ending.close()
    assert not (own_stack.folder / "stack.json").exists(), "it ends by itself when its standard input closes"
    again = ending.enter_context(separate_stack(own_stack.folder, port=port))
    own_stack.content.update(again.content)  # other tests go on with it

    rows = dict(summarise(own_stack, monkeypatch))
    kept, page = own_stack.time(), WebBrowser(own_stack.content["base_url"]).get("/")
    bank = requests.get(f"{own_stack.content['banks'][0]['domain']}/consents", timeout=PATIENCE_SECONDS)

    assert kept["offset_seconds"] == moved["offset_seconds"] >= 2 * DAY
    assert re.search(rf"  {moved['offset_seconds'] // DAY} days( and \d+ (hour|minute)s?)? ahead", rows["Clock"])
    for shown in (page, bank):
        assert "Time has been moved" in shown.text


def summarise(own_stack: SeparateStack, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    bootstrap.use(operate(own_stack.content, monkeypatch))
    try:
        return summary_rows(own_stack.content, own_stack.folder / "stack.json")
    finally:
        bootstrap.use(None)
