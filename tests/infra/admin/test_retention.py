"""Retention of personal data: the documented table lists all data, and the commands remove only permitted data."""

import json
from typing import Any

import pytest

from chalicelib.foundation.identifiers import new_id
from chalicelib.website.records.users import user_key
from infra.admin import connection
from infra.render.docs import retention as reference_page
from infra.retention import kinds
from infra.retention.kinds import BY_NAME, KINDS, RETENTION_SECONDS, of_person
from tests.cards.issuer import MANAGER, Issuer
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run
from tests.kit.documents import DOCUMENTS, rows
from tests.openbanking.faults import items
from tests.openbanking.kit import IBAN
from tests.openbanking.payments import Pisp, payment_answer
from tests.website.web_user import WebUser

DAY = 24 * 3600


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Causeway:
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    return causeway


def kept_names(report: Any) -> set[str]:
    return {each["name"] for each in report["stays"]}


# -- the table


def test_the_documentation_lists_all_kinds_of_personal_data() -> None:
    found = [tuple(row) for row in rows(reference_page.render()) if row[0] in BY_NAME]

    assert found == [
        (
            kind.name,
            kind.data,
            kind.place.replace("`", ""),
            kind.retention,
            kind.removal,
            kind.reason,
            "Removed" if kind.on_request else "Stays",
        )
        for kind in KINDS
    ]


def test_every_kind_of_personal_data_names_a_documented_table() -> None:
    tables = {row[0].partition(",")[0] for row in rows(DOCUMENTS["docs/data.md"])}

    assert {kind.place.partition("`,")[0].partition("`")[2].partition("`")[0] for kind in KINDS} <= tables


def test_retention_show_lists_all_kinds_of_personal_data() -> None:
    assert [each["name"] for each in done("retention", "show")["kinds"]] == list(BY_NAME)
    shown = run("retention", "show").stdout.splitlines()
    assert "Card holders" in shown
    assert f"  {'holder-contact':<24}Phone number, email, title, locale, IP address" in shown
    assert [line for line in shown if len(line) > 120] == []


# -- PSUs


def test_erase_psu_removes_the_accounts_of_an_ended_consent(causeway: Causeway) -> None:
    tokens = causeway.tpp.tokens(1)
    consent_id = tokens["consent_id"]
    assert refused("retention", "erase-psu", consent_id) == (
        f"consent {consent_id} is valid: end it first with `consents revoke`"
    )
    done("consents", "revoke", consent_id)

    report = done("retention", "erase-psu", consent_id)

    assert report["removed"] == ["approved-accounts"]
    assert kept_names(report) == {kind.name for kind in of_person("PSU")} - {"approved-accounts"}
    (consent,) = (item for item in items(causeway, "consents") if item["part"] == "consent")
    assert (consent["accounts"], consent["scopes"] != []) == ({}, True)
    assert IBAN not in json.dumps(items(causeway, "consents"), default=str)
    assert done("consents", "show", consent_id)["consent"]["status"] == "revoked"
    assert refused("retention", "erase-psu", "nothing") == "there is no consent nothing"


def test_a_repeated_erasure_of_a_psu_reports_that_no_data_was_left(causeway: Causeway) -> None:
    consent_id = causeway.tpp.tokens(1)["consent_id"]
    done("consents", "revoke", consent_id)
    first = done("retention", "erase-psu", consent_id)

    assert done("retention", "erase-psu", consent_id) == {"removed": [], "stays": first["stays"]}
    assert run("retention", "erase-psu", consent_id).stdout.startswith("Nothing was left to remove.\n")


def test_erase_holder_prints_one_line_for_each_kind_of_erased_or_retained_data(causeway: Causeway) -> None:
    _, holder_id, _ = ended_holder(causeway)

    lines = run("retention", "erase-holder", str(holder_id)).stdout.splitlines()

    assert lines[:3] == [
        "Removed:",
        f"  {'holder-contact':<24}Phone number, email, title, locale, IP address",
        f"  {'card-secrets':<24}PIN and 3-D Secure password, encrypted",
    ]
    assert lines[lines.index("What stays:") + 1] == f"  {'holder-identity':<24}{BY_NAME['holder-identity'].data}"
    assert [line for line in lines if len(line) > 120] == []


def test_erase_psu_lists_the_retained_data_with_reasons(causeway: Causeway) -> None:
    consent_id = causeway.tpp.tokens(1)["consent_id"]
    done("consents", "revoke", consent_id)

    stays = done("retention", "erase-psu", consent_id)["stays"]

    assert [(each["name"], each["data"]) for each in stays] == [
        (kind.name, kind.data) for kind in of_person("PSU") if not kind.on_request
    ]
    assert set(stays[0]) == {"name", "data", "kept", "reason"}


def test_erase_psu_accepts_an_expired_consent(causeway: Causeway) -> None:
    consent_id = causeway.tpp.tokens(1)["consent_id"]
    causeway.clock.advance(200 * DAY)

    assert done("retention", "erase-psu", consent_id)["removed"] == ["approved-accounts"]


def test_retention_remove_deletes_consents_and_payments_after_five_years(causeway: Causeway) -> None:
    pisp = Pisp(causeway, 2, "direct")
    pisp.bank_answers(payment_answer(2, "P-1"))
    pisp.pay()
    consent_id = causeway.tpp.tokens(1)["consent_id"]
    done("consents", "revoke", consent_id)
    causeway.clock.advance(RETENTION_SECONDS - 1)
    assert done("retention", "remove") == {"dry_run": False, "consents": 0, "payments": 0, "holders": 0}
    causeway.clock.advance(1)

    assert done("retention", "remove", "--dry-run") == {"dry_run": True, "consents": 1, "payments": 1, "holders": 0}
    assert [item for item in items(causeway, "payments") if "payment_id" in item]
    assert done("retention", "remove")["consents"] == 1
    assert not [item for item in items(causeway, "consents") if item["part"] == "consent"]
    assert not [item for item in items(causeway, "payments") if "payment_id" in item]
    assert done("retention", "remove")["payments"] == 0


# -- users


@pytest.fixture
def email(causeway: Causeway) -> str:
    email = f"{new_id()}@example.com"
    causeway.hub.website.users.add(email, "correct horse battery", terms_accepted=True)
    return email


def test_erase_user_removes_the_user_with_sessions_and_authorization_journeys(causeway: Causeway, email: str) -> None:
    person = WebUser.signed_in(causeway, email)
    members = {"client_id": causeway.tpp.client_id, "bic": "ALPHGB21", "scopes": ["account.list"]}
    causeway.hub.website.journeys.begin(email, "state", members, None)

    report = done("retention", "erase-user", email)

    assert report["removed"] == ["user-account", "journeys", "sessions"]
    assert kept_names(report) == {"attempts", "clients", "operator-log"}
    assert email not in json.dumps([*items(causeway, "users"), *items(causeway, "website")], default=str)
    causeway.hub.website.users.add(email, "correct horse battery", terms_accepted=True)
    assert person.get("/clients").status == 303
    assert refused("retention", "erase-user", "nobody@example.com").startswith("no user has the email")


def test_erase_user_reports_only_data_that_existed(causeway: Causeway, email: str) -> None:
    report = done("retention", "erase-user", email)

    assert report["removed"] == ["user-account"]
    assert kept_names(report) == {"attempts", "clients", "operator-log"}


def test_an_interrupted_erasure_of_a_user_can_be_repeated(causeway: Causeway, email: str) -> None:
    WebUser.signed_in(causeway, email)
    causeway.hub.store.delete(*user_key(email))

    assert done("retention", "erase-user", email)["removed"] == ["sessions"]
    assert email not in json.dumps(items(causeway, "website"), default=str)
    assert refused("retention", "erase-user", email).startswith("no user has the email")


def test_erase_user_refuses_a_user_with_an_unarchived_client(causeway: Causeway, email: str) -> None:
    client_id = causeway.hub.openbanking.clients.create(owner=email, title="In use").client.client_id

    assert refused("retention", "erase-user", email) == (
        f"{email} has a client that is not archived: archive it first with `clients archive`"
    )
    done("clients", "archive", client_id)
    assert done("retention", "erase-user", email)["removed"]


# -- card holders


def ended_holder(causeway: Causeway) -> tuple[Issuer, int, int]:
    issuer = Issuer(causeway)
    made = issuer.card_in("A", card_virtual=0)
    issuer.data("createCardAcsMerchantWhitelistRule", card_id=made.card_id, rule_name="Groceries", mcc="5411")
    issuer.data("changeCardStatus", card_id=made.card_id, status="B")
    issuer.data("changeAccountStatus", account_id=made.account_id, account_status="C")
    return issuer, made.holder_id, made.card_id


def test_erase_holder_refuses_a_holder_with_an_open_account_or_usable_card(causeway: Causeway) -> None:
    issuer = Issuer(causeway)
    made = issuer.card_in("A")
    open_account = f"account {made.account_id} is open (changeAccountStatus C)"
    usable_card = f"card {made.card_id} is not blocked; the programme manager has to block it (changeCardStatus B)"

    assert refused("retention", "erase-holder", str(made.holder_id)) == (
        f"holder {made.holder_id}: {open_account}; {usable_card}"
    )
    issuer.data("changeAccountStatus", account_id=made.account_id, account_status="C")
    assert refused("retention", "erase-holder", str(made.holder_id)) == f"holder {made.holder_id}: {usable_card}"
    assert refused("retention", "erase-holder", "99999") == "there is no holder 99999"


@pytest.mark.parametrize(("status", "days"), [("N", 0), ("B", 0), ("E", 62)])
def test_erase_holder_accepts_closed_accounts_with_unusable_cards(causeway: Causeway, status: str, days: int) -> None:
    issuer = Issuer(causeway)
    made = issuer.card_in(status)
    issuer.data("changeAccountStatus", account_id=made.account_id, account_status="C")
    causeway.clock.advance(days * DAY)

    assert "card-secrets" in done("retention", "erase-holder", str(made.holder_id))["removed"]


@pytest.mark.parametrize("status", ["T", "R", "L", "S"])
def test_erase_holder_refuses_cards_in_a_reversible_status(causeway: Causeway, status: str) -> None:
    issuer = Issuer(causeway)
    made = issuer.card_in(status)
    issuer.data("changeAccountStatus", account_id=made.account_id, account_status="C")

    assert "is not blocked" in refused("retention", "erase-holder", str(made.holder_id))


def test_erase_holder_accepts_a_holder_without_accounts(causeway: Causeway) -> None:
    issuer = Issuer(causeway)
    holder_id = issuer.holder()

    assert done("retention", "erase-holder", str(holder_id))["removed"]
    assert issuer.data("getHolder", holder_id=holder_id)["phone_number"] == ""


def test_erase_holder_retains_the_data_required_by_law(causeway: Causeway) -> None:
    issuer, holder_id, card_id = ended_holder(causeway)
    before = issuer.data("getHolder", holder_id=holder_id)

    report = done("retention", "erase-holder", str(holder_id))

    assert report["removed"] == ["holder-contact", "card-secrets", "whitelist-rules"]
    assert BY_NAME["holder-identity"].reason == kinds.AML
    assert "holder-identity" in kept_names(report)
    after = issuer.data("getHolder", holder_id=holder_id)
    assert (after["phone_number"], after["last_name"]) == ("", before["last_name"])
    assert issuer.data("getCardAcsPassword", card_id=card_id)["acs_password"] == ""
    (card,) = (item for item in items(causeway, "cards") if item["part"] == "card" and item.get("id") == card_id)
    assert "pin" not in card
    assert done("retention", "erase-holder", str(holder_id)) == {"removed": [], "stays": report["stays"]}


def test_retention_remove_deletes_holder_names_after_five_years(causeway: Causeway) -> None:
    issuer, holder_id, card_id = ended_holder(causeway)
    names = ("O'Neil-Smith", "Riverside", "0447700900123", "o'neil-smith", "ONEIL")
    assert any(name in json.dumps(items(causeway, "cards"), default=str, ensure_ascii=False) for name in names)
    causeway.clock.advance(RETENTION_SECONDS)

    assert done("retention", "remove")["holders"] == 1
    stored = json.dumps(items(causeway, "cards"), default=str, ensure_ascii=False)
    assert [name for name in names if name in stored] == []
    assert issuer.data("getHolder", holder_id=holder_id)["last_name"] == ""
    portal = causeway.hub.cards.portal
    assert card_id in [each["card_id"] for each in portal.read(MANAGER, "listCards", item_count=20)["data"]]
    assert done("retention", "remove")["holders"] == 0


def test_retention_remove_waits_until_the_cards_of_a_holder_are_blocked(causeway: Causeway) -> None:
    issuer = Issuer(causeway)
    made = issuer.card_in("L")
    issuer.data("changeAccountStatus", account_id=made.account_id, account_status="C")
    causeway.clock.advance(RETENTION_SECONDS)
    assert done("retention", "remove")["holders"] == 0

    issuer.data("changeCardStatus", card_id=made.card_id, status="B")

    assert done("retention", "remove")["holders"] == 1
