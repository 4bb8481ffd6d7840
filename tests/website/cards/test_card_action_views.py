"""Linked users issue and manage the cards of their programme manager."""

import html
import re
from collections.abc import Sequence
from typing import Any

import pytest

from chalicelib.cards.issuing.card_record import Card
from chalicelib.foundation.dynamodb.store import Operation, Store
from chalicelib.website.cards.card_actions import BY_ACTION
from tests.cards.issuer import EUR, OTHER_MANAGER, Issuer, NewCard
from tests.causeway import Answer, Causeway
from tests.kit.logs import Lines
from tests.website.conftest import link
from tests.website.web_user import WebUser

NEW = {
    "card_program_id": "101",
    "card_virtual": "1",
    "card_country_ison": "Germany",
    "card_name_line_3": "ADA LOVELACE",
    "holder_first_name": "Ada",
    "holder_last_name": "Lovelace",
    "holder_address_line_1": "1 Riverside",
    "holder_zipcode": "E1 6AN",
    "holder_city": "London",
    "holder_country_ison": "gb",
    "holder_phone_number": "447700900123",
}


def issue(person: WebUser, **fields: Any) -> Answer:
    person.get("/cards/new")
    return person.post("/cards/new", draft=person.hidden("draft"), form={**NEW, **fields})


def test_an_outdated_card_form_returns_409_and_shows_the_error_above_the_page_heading(
    colleague: WebUser, card: NewCard
) -> None:
    """The card is already active, so that its page has no activation form that could display the error."""
    answer = colleague.manage_card(card.card_id, "activateCard")

    assert answer.status == 409
    assert "Refused (4006)" in answer.text.partition("<h1")[0]


def test_a_card_is_issued_activated_blocked_and_unblocked(issuer: Issuer, colleague: WebUser) -> None:
    place = issue(colleague).headers["location"]
    number = int(place.rpartition("/")[2])
    assert "The card has been issued." in colleague.get(place).text
    assert "ADA LOVELACE" in colleague.text
    colleague.post(place, action="activateCard", draft=colleague.hidden("draft"))
    statuses = []
    for status in ("T", "A"):
        colleague.get(place)
        colleague.post(place, action="changeCardStatus", draft=colleague.hidden("draft"), form={"status": status})
        assert "The card's status has been changed." in html.unescape(colleague.get(place).text)
        statuses.append(issuer.data("getCardStatus", card_id=number)["card_status"])

    assert statuses == ["T", "A"]


def test_a_card_is_issued_for_an_existing_holder_and_account(issuer: Issuer, colleague: WebUser, card: NewCard) -> None:
    words = {name: "" for name in NEW if name.startswith("holder_")}
    place = issue(colleague, **words, holder_id=card.holder_id, account_id=card.account_id).headers["location"]

    found = issuer.data("getAccounts", card_id=int(place.rpartition("/")[2]))
    assert [each["id"] for each in found] == [card.account_id]


def test_a_duplicate_form_submission_issues_one_card(issuer: Issuer, colleague: WebUser) -> None:
    colleague.get("/cards/new")
    draft = colleague.hidden("draft")
    places = [colleague.post("/cards/new", draft=draft, form=NEW).headers["location"] for _ in range(2)]

    assert places[0] == places[1]


def test_two_simultaneous_clicks_issue_one_card(monkeypatch: pytest.MonkeyPatch, colleague: WebUser) -> None:
    """The second request runs immediately before the first request writes."""
    colleague.get("/cards/new")
    draft, token, places = colleague.hidden("draft"), colleague.token, []
    real = Store.transact

    def click() -> None:
        answer = colleague.post("/cards/new", draft=draft, token=token, form=NEW)
        places.append((answer.status, answer.headers["location"]))

    def transact(store: Store, operations: Sequence[Operation]) -> None:
        monkeypatch.setattr(Store, "transact", real)
        click()
        real(store, operations)

    monkeypatch.setattr(Store, "transact", transact)
    click()

    assert len(places) == 2
    assert len(set(places)) == 1
    assert len(re.findall('href="/cards/[0-9]+"', colleague.get("/cards").text)) == 1


def test_a_form_for_a_new_card_shows_an_error_at_the_invalid_field(colleague: WebUser) -> None:
    missing = issue(colleague, card_name_line_3="")
    assert (missing.status, "Name on the card is missing." in missing.text) == (400, True)
    assert 'value="Lovelace"' in missing.text, "what was typed stays"
    wrong = issue(colleague, holder_phone_number="12", card_name_line_3="A")
    assert wrong.status == 400
    assert "Phone number must" in wrong.text
    assert "Name on the card must have" in wrong.text
    assert wrong.text.count(" autofocus") == 1
    assert issue(colleague, holder_first_name="").status == 400
    nobody = issue(colleague, holder_id="987654321")
    assert (nobody.status, "Refused (3003)" in nobody.text) == (409, True)


def test_a_card_form_enforces_the_rules_of_the_model_of_its_card_action(causeway: Causeway, colleague: WebUser) -> None:
    text = colleague.get("/cards/new").text

    assert re.search(r'id="new-card_name_line_3"[^>]* required', text)
    assert not re.search(r'id="new-card_reference_id"[^>]* required', text)
    assert "3 to 26 characters" in text
    assert text.count('list="countries"') == 3
    assert '<option value="United Kingdom">GB</option>' in text
    assert "Optional. At most 50 characters" in text
    assert re.search(r'<select id="new-card_virtual".*?value="1" selected>Virtual', text, re.DOTALL)
    for action in BY_ACTION.values():
        model = causeway.hub.website.portal.request_of(action.action)
        assert {"card_id", *action.members} <= model.model_fields.keys()


def test_a_country_name_is_accepted_as_a_country_field(causeway: Causeway, issuer: Issuer, colleague: WebUser) -> None:
    place = issue(colleague, card_country_ison="germany", holder_country_ison="Türkiye").headers["location"]
    card = causeway.hub.store.get(*Card.key(int(place.rpartition("/")[2]))) or {}
    wrong = issue(colleague, card_country_ison="Atlantis")

    assert card["country"] == 276
    assert issuer.data("getHolder", holder_id=card["holder_id"])["country_ison"] == 792
    assert (wrong.status, "There is no such country." in wrong.text) == (400, True)
    assert 'value="Atlantis"' in wrong.text


def test_a_corrected_card_form_is_accepted_after_a_rejection(colleague: WebUser) -> None:
    """A rejected request does not consume its reference."""
    for wrong in ({"card_name_line_3": ""}, {"holder_phone_number": "12"}, {"holder_id": "987654321"}):
        issue(colleague, **wrong)
        again = colleague.post("/cards/new", draft=colleague.hidden("draft"), form=NEW)
        assert again.status == 303, wrong


def test_an_account_id_requires_its_holder_id(colleague: WebUser, card: NewCard) -> None:
    refused = issue(colleague, account_id=str(card.account_id))

    assert refused.status == 400
    assert "Enter the id of the holder that has the account." in refused.text


def test_errors_of_a_card_form_use_the_labels_of_the_form(colleague: WebUser, card: NewCard) -> None:
    physical = issue(colleague, card_virtual="0", holder_city="")
    both = issue(colleague, holder_id=card.holder_id, account_id=card.account_id, card_currency_ison=EUR)

    assert (physical.status, both.status) == (400, 400)
    assert "Delivery city is required." in physical.text
    assert "City is required." in physical.text
    assert "Currency of a new account must not be combined with Account id." in both.text


def test_blocking_a_card_permanently_requires_a_confirmation(issuer: Issuer, colleague: WebUser, card: NewCard) -> None:
    asked = colleague.manage_card(card.card_id, "changeCardStatus", status="B", reason_code="", note="lost twice")
    before = issuer.data("getCardStatus", card_id=card.card_id)["card_status"]
    names = ("action", "draft", "confirmed", "status", "note")
    colleague.post(f"/cards/{card.card_id}", form={name: colleague.hidden(name) for name in names})
    after = issuer.data("getCardStatus", card_id=card.card_id)

    assert "Block this card for good?" in asked.text
    assert (before, after["card_status"], after["note"]) == ("A", "B", "lost twice")
    assert 'id="manage"' not in colleague.get(f"/cards/{card.card_id}").text


@pytest.mark.parametrize(
    ("action", "member", "kind"),
    [
        ("assignCardToFeesGroup", "fees_group_id", "fee_group"),
        ("assignCardToLimitsGroup", "limits_group_id", "limit_group"),
        ("assignCardToUsageGroup", "usages_group_id", "usage_group"),
        ("assignCardToRiskRuleGroup", "risk_rules_group_id", "risk_group"),
    ],
)
def test_a_card_can_be_moved_only_to_a_permitted_group(
    causeway: Causeway, colleague: WebUser, card: NewCard, action: str, member: str, kind: str
) -> None:
    answer = colleague.manage_card(card.card_id, "none")
    select = answer.text.partition(f'<select id="{action}-{member}"')[2].partition("</select>")[0]
    offered = re.findall(r'<option value="([0-9]+)"', select)
    moved = colleague.manage_card(card.card_id, action, **{member: offered[-1]})
    stored = causeway.hub.store.get(*Card.key(card.card_id)) or {}
    forged = colleague.manage_card(card.card_id, action, **{member: "987"})

    assert moved.status == 303
    assert stored[f"{kind}_id"] == int(offered[-1])
    assert forged.status in (400, 409)


def test_a_card_action_is_logged_with_the_web_interface_as_credential(
    lines: Lines, colleague: WebUser, card: NewCard
) -> None:
    colleague.manage_card(card.card_id, "changeCardStatus", status="T")
    done = [line for line in lines.all() if line.get("action") == "changeCardStatus"]

    assert any("web interface" in str(line.get("credential")) for line in done)


def test_a_user_cannot_manage_a_card_of_another_programme_manager(
    causeway: Causeway, user: WebUser, email: str, issuer: Issuer, card: NewCard
) -> None:
    link(causeway, email, OTHER_MANAGER)
    user.get("/cards/new")
    answer = user.post(f"/cards/{card.card_id}", action="changeCardStatus", draft="d" * 22, status="T")

    assert answer.status == 404
    assert issuer.data("getCardStatus", card_id=card.card_id)["card_status"] == "A"
