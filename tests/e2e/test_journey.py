"""A complete journey on the whole stack, with real HTTP connections, signatures and storage calls."""

import base64
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from chalicelib import bootstrap
from chalicelib.openbanking.records.authorization_requests import (
    AuthorizationRequest,
    authorization_key,
    compute_authorization_id,
)
from infra.event_receiver import listen
from infra.tour.guide import Guide
from infra.tour.play import run
from tests.e2e.parties import SCOPES, Journey, Tpp, at_once
from tests.infra.deployment import for_stage
from tests.kit.time import PATIENCE_SECONDS, wait_for

pytestmark = pytest.mark.e2e


def tables(operator: bootstrap.Hub) -> list[str]:
    prefix = f"causeway-{operator.settings.stage}-"
    names = [table["TableName"] for table in for_stage(operator.settings.stage).tables()]
    assert all(name.startswith(prefix) for name in names)
    return [name.removeprefix(prefix) for name in names]


def test_the_tour_completes_all_steps_at_the_two_banks_and_in_the_card_api(
    stack: dict[str, Any], operator: bootstrap.Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = {client.client_id for client in operator.openbanking.clients.all()}
    run(stack, operator, Guide(detail=True))

    shown = capsys.readouterr().out
    assert "Both banks done." in shown
    assert "The card API is done." in shown
    for code in ("55", "75", "00", "51", "61", "N7"):
        assert f'"response_code": "{code}"' in shown
    for told in ('"duplicated": 1', '"status_code": 6001', '"status_code": 6002', '"status_code": 4002'):
        assert told in shown
    for step in (
        "It checks whether funds are available",
        "It initiates a payment",
        "It initiates a direct payment",
        "The TPP revokes the consent",
    ):
        assert shown.count(f"● {step}") == 2
    assert shown.count('"payment_status": 4') == 2  # bank one: the event about each of two payments
    assert shown.count('"transaction_status": ') == 2  # bank two: the event about each of two payments
    of_cards = ("card.created", "card.activated", "card.authorization", "card.clearing", "card.status_changed")
    counts = {"consent.authorised": 2, "payment.status_changed": 4, "consent.revoked": 2, "external_payment": 1}
    for event, count in {**counts, **dict.fromkeys(of_cards, 1), "three_d_secure.requested": 1}.items():
        assert shown.count(f"EVENT {event}  verified webhook-id ") == count
    assert shown.count("(the same body)") == 3  # each bank's repeated payment, and the repeated card order
    assert not re.search(r'"(access_token|refresh_token|token|code_verifier|access_\w+)": "[^"]{10}', shown)
    assert not re.search(r'"code": "(?![A-Z_]+")[^"]{10}', shown)
    assert shown.count("Prefer: respond-async") == shown.count('"state": "done"') == 2
    for becomes in ("active", "revoked"):
        assert len(re.findall(rf"^  PSU Guided Tour \w+: {becomes}$", shown, re.MULTILINE)) == 2
    [client] = [client for client in operator.openbanking.clients.all() if client.client_id not in earlier]
    assert client.title.startswith("Guided Tour")
    assert (client.is_archived, client.events_url) == (True, None)


def test_the_brief_tour_prints_one_line_with_the_outcome_of_each_step(
    stack: dict[str, Any], operator: bootstrap.Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    run(stack, operator, Guide(detail=False))

    shown = capsys.readouterr().out.splitlines()
    outcomes = {line[2:82].strip(): line[82:].strip() for line in shown if line.startswith("  ")}
    assert 50 <= len(shown) <= 80
    assert all(outcomes.values())
    assert max(map(len, shown)) <= 150
    assert outcomes["The TPP receives a signed event about the consent"] == "consent.authorised, verified"
    assert (
        outcomes["The TPP revokes the consent, and the next call with its token is refused"]
        == "401 AUTHENTICATION_REQUIRED"
    )
    assert outcomes["The holder enters a wrong CVC2 to activate the card: refused and counted"] == "refused, 6001"
    assert (
        outcomes["It repeats the order, as if the response was lost, and gets the same card"]
        == "the first response again"
    )
    assert outcomes["Three wrong PINs at a terminal block the PIN"] == "2 response code 55, 2 response code 75"


def test_the_accounts_of_a_psu_are_read_through_the_hub(tpp: Tpp, journey: Journey) -> None:
    tokens = tpp.redeem(journey.code).json()

    accounts = tpp.call("GET", "/tpp/accounts", bearer=tokens["access_token"])

    assert accounts.status_code == 200
    assert accounts.json()["accounts"]
    assert accounts.headers["Server-Timing"].startswith("bank;dur=")


def test_a_consent_revocation_by_the_tpp_is_delivered_to_the_bank(
    tpp: Tpp, journey: Journey, operator: bootstrap.Hub
) -> None:
    tokens = tpp.redeem(journey.code).json()

    assert tpp.call("POST", "/tpp/token/revoke", {"token": tokens["access_token"]}).status_code == 200

    def look() -> bool:
        items = operator.store.scan("deliveries")
        return [item["state"] for item in items if item.get("consent_id") == tokens["consent_id"]] == ["delivered"]

    wait_for(look, "the bank was not told")


def test_one_of_50_parallel_exchanges_of_a_code_succeeds_and_the_tokens_are_revoked(tpp: Tpp, journey: Journey) -> None:
    answers = at_once(50, lambda: tpp.redeem(journey.code))

    good = [answer for answer in answers if answer.status_code == 200]
    assert len(good) == 1
    assert {answer.status_code for answer in answers} == {200, 400}
    tokens = good[0].json()
    assert tpp.call("GET", "/tpp/consent", bearer=tokens["access_token"]).status_code == 401
    assert tpp.refresh(tokens["refresh_token"]).status_code == 400


def test_50_parallel_token_refreshes_return_one_token_pair(tpp: Tpp, journey: Journey) -> None:
    first = tpp.redeem(journey.code).json()

    answers = at_once(50, lambda: tpp.refresh(first["refresh_token"]))

    assert {answer.status_code for answer in answers} == {200}
    pairs = {(answer.json()["access_token"], answer.json()["refresh_token"]) for answer in answers}
    assert len(pairs) == 1
    assert tpp.refresh(pairs.pop()[1]).status_code == 200


def test_tables_and_logs_contain_no_usable_credential(
    stack: dict[str, Any], tpp: Tpp, journey: Journey, operator: bootstrap.Hub, stack_log: Path
) -> None:
    first = tpp.redeem(journey.code).json()
    second = tpp.refresh(first["refresh_token"]).json()
    tpp.call("GET", "/tpp/accounts", bearer=second["access_token"])
    banks = operator.secrets.get(operator.settings.demo_banks_secret)
    keys = operator.secrets.get(operator.settings.keys_secret)
    consent = operator.openbanking.consents.bank_token(_consent(operator, second["consent_id"]))
    secrets = [journey.code, consent, stack["user"]["password"]]
    secrets += [_client_secret_in_use(stack, operator), *_cancel_secrets_in_use(tpp, journey, operator)]
    secrets += _confirmation_secrets(tpp, journey)
    secrets += _events_secrets_in_use(operator)
    secrets += [pair[name] for pair in (first, second) for name in ("access_token", "refresh_token")]
    secrets += [bank["api_key"] for bank in banks.values()]
    secrets += [line for pem in _pems(banks, keys) for line in pem.splitlines() if not line.startswith("-----")]
    needles = {needle for secret in secrets for needle in _forms(secret)}

    dump = b"\n".join(repr(item).encode() for table in tables(operator) for item in operator.store.scan(table))
    logs = stack_log.read_bytes()

    assert first["consent_id"].encode() in dump
    assert b'"request"' in logs
    found = {where for needle in needles for where, text in (("tables", dump), ("logs", logs)) if needle in text}
    assert found == set()


def _client_secret_in_use(stack: dict[str, Any], operator: bootstrap.Hub) -> str:
    made = operator.openbanking.clients.create(owner="careful@example.com", title="Careful", secret=True)
    client, secret = made.client, made.secret
    assert secret is not None
    for shown, status in ((secret, 400), (f"{secret}x", 401)):
        form = {"code": "x", "client_id": client.client_id, "client_secret": shown}
        answer = requests.post(f"{stack['base_url']}/tpp/token", data=form, timeout=PATIENCE_SECONDS)
        assert answer.status_code == status
    return secret


def _confirmation_secrets(tpp: Tpp, journey: Journey) -> list[str]:
    body, key = tpp.direct_payment(journey.bank), {"Idempotency-Key": f"key-{uuid.uuid4()}"}
    answers = [tpp.call("POST", "/tpp/direct_payment_initiation", body, headers=key) for _ in range(2)]
    assert answers[0].text == answers[1].text
    later = tpp.later("POST", "/tpp/direct_payment_initiation", body)
    urls: list[str] = [answer["confirmation_url"] for answer in (answers[0].json(), later["body"])]
    assert [requests.get(url, timeout=PATIENCE_SECONDS).status_code for url in urls] == [200, 200]
    return [url.rpartition("/")[2] for url in urls]


def _events_secrets_in_use(operator: bootstrap.Hub) -> list[str]:
    """Rotate the events secret of a client. Return the old and the new secret, which both sign events."""
    with listen() as receiver:
        made = operator.openbanking.clients.create(
            owner="careful@example.com", title="Careful", events_url=receiver.url
        )
        rotated = operator.openbanking.clients.rotate_events_secret(made.client.client_id, overlap=3600)
        secrets = [secret for secret in (made.events_secret, rotated.events_secret) if secret]
        for receiver.secret in secrets:
            operator.openbanking.tpp_events.send_test(rotated.client)
            receiver.wait_for_event("test")
    return secrets


def _cancel_secrets_in_use(tpp: Tpp, journey: Journey, operator: bootstrap.Hub) -> list[str]:
    """Return the cancel secrets of an approved request, of an open request, and of a cancelled request."""
    request = {"bic": journey.bank["bic"], "scopes": SCOPES[journey.bank["api_version"]]}
    states = [parse_qs(urlsplit(journey.callback).query)["state"][0]]
    states += [tpp.call("POST", "/tpp/authorize", request).json()["state"] for _ in range(2)]
    found = []
    for state in states:
        item = operator.store.get(*authorization_key(compute_authorization_id(tpp.client_id, state)))
        assert item is not None
        found.append(
            operator.openbanking.authorization_requests.cancel_credential(AuthorizationRequest.from_item(item))
        )
    segment = "" if journey.bank["api_version"] == 1 else "/v2"
    for secret in (found[0], found[2], f"{found[1]}x"):
        requests.get(f"{tpp.base}/bank{segment}/cancel/{secret}", allow_redirects=False, timeout=PATIENCE_SECONDS)
    return found


def _forms(secret: str) -> Iterator[bytes]:
    """Yield the forms in which a secret could be stored: the whole secret and its secret part, each also in base64."""
    for part in {secret, secret.rpartition(".")[2], secret.removeprefix("whsec_")}:
        yield part.encode()
        yield base64.b64encode(part.encode()).rstrip(b"=")[:-1]


def _pems(banks: dict[str, Any], keys: dict[str, Any]) -> list[str]:
    return [bank["signing_key"] for bank in banks.values()] + [entry["pem"] for entry in keys["signing_keys"]]


def _consent(operator: bootstrap.Hub, consent_id: str) -> Any:
    from chalicelib.openbanking.records.consents import Consent, consent_key

    item = operator.store.get(*consent_key(consent_id))
    assert item is not None
    return Consent.from_item(item)
