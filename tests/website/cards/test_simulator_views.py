"""The simulator on the card page: authorizations, clearings, payments and errors."""

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.cards.issuer import EUR, Issuer, NewCard
from tests.causeway import Answer, Causeway
from tests.kit.logs import Lines
from tests.website.web_user import PURCHASE, WebUser


def outcome(person: WebUser) -> str:
    found = re.search(r'<section class="outcome.*?</section>', person.last.text, re.DOTALL)
    assert found is not None, person.text
    return " ".join(re.sub("<[^>]+>", " ", found[0]).split())


def test_the_simulator_shows_the_code_and_the_meaning_of_an_approval_and_of_a_decline(
    colleague: WebUser, card: NewCard
) -> None:
    colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE)
    approved = outcome(colleague)
    colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE | {"amount": "600"})
    declined = outcome(colleague)

    assert approved.startswith("Approved 00, approved. 25.00 EUR is held in total. Available now: 475.00 EUR")
    assert declined.startswith("Declined 51, insufficient funds.")
    assert 'class="outcome bad"' in colleague.last.text


def test_the_simulator_shows_a_result_in_the_submitted_form_and_focuses_the_result(
    colleague: WebUser, card: NewCard
) -> None:
    answer = colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE)
    form = answer.text.partition("<summary>Authorization")[2].partition("</details>")[0]

    assert '<section class="outcome good" role="status" id="outcome" tabindex="-1" autofocus>' in form
    assert "00, approved." in form.partition("<form")[0]
    assert answer.text.count('class="outcome') == 1
    assert answer.text.count(" autofocus") == 1


def test_an_expired_hold_is_not_shown_in_the_success_colour(issuer: Issuer, colleague: WebUser, card: NewCard) -> None:
    held = issuer.purchase(card.card_id, 25_00)
    answer = colleague.simulate(card.card_id, "simulateExpiry", trans_link=f"{held['trans_link']}.{EUR}")
    row = answer.text.partition("End of the hold")[2].partition("</tr>")[0]

    assert 'class="outcome plain"' in answer.text
    assert '<span class="tag">00</span>' in row


@pytest.mark.parametrize(
    ("use", "told", "available"),
    [
        pytest.param({"merchant_country_ison": 840}, "25.50 EUR is held in total, 0.50 EUR", 474_50, id="separate"),
        pytest.param(
            {"transaction_type": 11, "mcc": "7995"}, "25.63 EUR is held in total, 0.63 EUR", 474_37, id="blended"
        ),
    ],
)
def test_a_held_amount_is_shown_with_its_fees(
    issuer: Issuer, colleague: WebUser, card: NewCard, use: dict[str, Any], told: str, available: int
) -> None:
    colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE | use)

    assert issuer.balances(card.account_id)[0] == available
    assert outcome(colleague).startswith(f"Approved 00, approved. {told} of it fees. Available now: ")


def test_an_increment_of_an_authorization_shows_its_added_fees(colleague: WebUser, card: NewCard) -> None:
    colleague.simulate(
        card.card_id, "simulateAuthorization", **PURCHASE | {"amount": "100", "merchant_country_ison": 840}
    )
    (held,) = set(re.findall(r'<option value="(0[0-9]+\.978)"', colleague.last.text))
    colleague.simulate(card.card_id, "simulateIncrement", trans_link=held, amount="100")

    assert "203.00 EUR is held in total, 1.50 EUR of it new fees." in outcome(colleague)


def test_a_clearing_shows_its_transaction_and_the_new_balances(colleague: WebUser, card: NewCard) -> None:
    colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE | {"merchant_country_ison": 840})
    (held,) = set(re.findall(r'<option value="(0[0-9]+\.978)"', colleague.last.text))
    colleague.simulate(card.card_id, "simulateClearing", trans_link=held, amount="25", currency_ison=EUR, final="yes")

    assert re.fullmatch(
        r"Collected 25\.00 EUR is booked as transaction \d+\. 25\.50 EUR is no longer held\. "
        r"Available now: 474\.50 EUR, settled: 474\.50 EUR\.",
        outcome(colleague),
    )


def test_a_balance_inquiry_creates_no_hold(colleague: WebUser, card: NewCard) -> None:
    colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE | {"transaction_type": 39, "amount": "0"})

    assert outcome(colleague).startswith("Approved 00, approved. It comes to 0.00 EUR on the account. Available")


def test_a_purchase_can_be_simulated_from_authorization_to_dispute(colleague: WebUser, card: NewCard) -> None:
    colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE)
    (held,) = set(re.findall(r'<option value="(0[0-9]+\.978)"', colleague.last.text))
    said = []
    for action, fields in (
        ("simulateIncrement", {"trans_link": held, "amount": "10"}),
        ("simulateReversal", {"trans_link": held, "amount": "5"}),
        ("simulateClearing", {"trans_link": held, "amount": "20", "currency_ison": EUR, "final": "yes"}),
        ("simulateRefund", {"trans_link": held, "amount": "4", "currency_ison": EUR}),
    ):
        assert colleague.simulate(card.card_id, action, **fields).status == 200
        said.append(outcome(colleague))
    (collected,) = set(
        re.findall(r'<option value="([0-9]{1,9}\.978)">\d+, Corner Shop, 20.00 EUR', colleague.last.text)
    )
    colleague.simulate(card.card_id, "simulateDispute", transaction_id=collected, step="opened", amount="16")
    said.append(outcome(colleague))

    assert [each.partition(" Available")[0] for each in said] == [
        "Approved 00, approved. 35.00 EUR is held in total.",
        "Released 5.00 EUR is no longer held.",
        f"Collected 20.00 EUR is booked as transaction {collected.partition('.')[0]}. 30.00 EUR is no longer held.",
        f"Refunded 4.00 EUR is booked as transaction {int(collected.partition('.')[0]) + 1}.",
        "Dispute opened The holder has been credited, and the credit is reserved.",
    ]
    assert "Dispute opened 16.00 EUR 16.00 EUR" in colleague.text


def test_a_new_card_can_be_activated_and_funded_in_the_simulator(issuer: Issuer, colleague: WebUser) -> None:
    card = issuer.card()
    colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE)
    assert outcome(colleague).startswith("Declined 78, card not activated.")
    colleague.manage_card(card.card_id, "activateCard")
    assert "The card is active" in colleague.get(f"/cards/{card.card_id}").text
    colleague.simulate(
        card.card_id, "assignExternalPaymentAddress", account_id=f"{card.account_id}.978", epm_method_id=2
    )
    assert f"is credited to account {card.account_id}." in outcome(colleague)
    (address,) = re.findall(r'<option value="([0-9]+\.978)">[A-Z]{2}[0-9]{2}', colleague.last.text)
    payment = {"epm_address_id": address, "amount": "70", "sender_name": "Ada", "reference": "Top-up"}
    colleague.simulate(card.card_id, "simulateInboundPayment", **payment)

    assert outcome(colleague).startswith("The payment is settled")
    assert issuer.balances(card.account_id)[0] == 70_00
    colleague.simulate(card.card_id, "simulateAuthentication", **PURCHASE)
    assert outcome(colleague).startswith("3-D Secure:")


def test_a_duplicate_simulation_request_is_executed_once(issuer: Issuer, colleague: WebUser, card: NewCard) -> None:
    colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE)
    colleague.get(f"/cards/{card.card_id}")
    draft = colleague.hidden("draft")
    for _ in range(2):
        colleague.post(f"/cards/{card.card_id}/simulator", action="simulateAuthorization", draft=draft, form=PURCHASE)

    assert issuer.balances(card.account_id)[0] == 450_00


def test_a_rejected_simulation_shows_its_error_and_the_entered_values(colleague: WebUser, card: NewCard) -> None:
    wrong = colleague.simulate(
        card.card_id, "simulateAuthorization", **PURCHASE | {"amount": "a lot", "merchant_name": "My shop"}
    )
    kept = 'value="My shop"' in wrong.text
    late = colleague.simulate(card.card_id, "simulateExpiry", trans_link="000000000001.978")
    unknown = colleague.simulate(card.card_id, "getPin")
    short = colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE | {"pin": "73"})

    assert (wrong.status, kept) == (400, True)
    assert "Enter an amount of EUR such as 25.00." in wrong.text
    assert (late.status, "Expiry was refused (3012)" in late.text) == (409, True)
    assert unknown.status == 400
    assert (short.status, "PIN must have 4 digits." in short.text) == (400, True)


def field_of(answer: Answer, action: str, name: str) -> str:
    found = re.search(
        rf'<(?:input|select) id="{action}-{name}".*?(?=<div class="(?:field|actions)")', answer.text, re.DOTALL
    )
    assert found is not None
    return found[0]


def test_each_invalid_field_shows_its_error_and_the_first_invalid_field_is_focused(
    colleague: WebUser, card: NewCard
) -> None:
    wrong = {"amount": "a lot", "merchant_name": " ", "pin": "73"}
    answer = colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE | wrong)

    for name, error in (("amount", "Enter an amount of EUR"), ("merchant_name", "is missing"), ("pin", "4 digits")):
        field = field_of(answer, "simulateAuthorization", name)
        assert 'aria-invalid="true"' in field
        assert f'aria-describedby="simulateAuthorization-{name}-error"' in field
        assert error in field.partition(f'id="simulateAuthorization-{name}-error"')[2]
        assert (" autofocus" in field) == (name == "amount")
    assert answer.text.count("aria-invalid") == 3
    assert answer.text.count(" autofocus") == 1
    assert 'class="alert"' not in answer.text
    assert "aria-invalid" not in colleague.get(f"/cards/{card.card_id}").text


def test_a_service_error_about_a_field_is_shown_at_the_field(colleague: WebUser, card: NewCard) -> None:
    answer = colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE | {"merchant_name": "x" * 300})
    field = field_of(answer, "simulateAuthorization", "merchant_name")

    assert answer.status == 400
    assert 'aria-invalid="true"' in field
    assert "Merchant must have" in field


def test_a_service_error_about_the_form_is_shown_in_the_form_and_focused(colleague: WebUser, card: NewCard) -> None:
    answer = colleague.simulate(card.card_id, "simulateExpiry", trans_link="000000000001.978")
    form = answer.text.partition("<summary>Expiry")[2].partition("</details>")[0]

    assert re.search(r'role="alert" tabindex="-1" autofocus><svg .+?</svg>Expiry was refused \(3012\)', form, re.DOTALL)
    assert answer.text.count("was refused") == 1


def test_an_entered_pin_or_cvc2_is_not_included_in_the_response(colleague: WebUser, card: NewCard) -> None:
    for amount in ("5.00", "a lot"):
        answer = colleague.simulate(
            card.card_id, "simulateAuthorization", **PURCHASE | {"amount": amount, "pin": "7395", "cvc2": "517"}
        )
        assert not re.search('value="(7395|517)"', answer.text)


def test_a_get_request_to_the_simulator_redirects_to_the_card(user: WebUser, visitor: WebUser) -> None:
    for person in (user, visitor):
        for written, place in (("7", "/cards/7"), ("card", "/cards"), ("7%0d%0aX-Y:%20z", "/cards")):
            answer = person.get(f"/cards/{written}/simulator")
            assert (answer.status, answer.headers["location"]) == (303, place)
            assert "x-y" not in answer.headers


def test_the_log_line_of_a_simulator_request_names_the_action(lines: Lines, colleague: WebUser, card: NewCard) -> None:
    colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE)
    colleague.simulate(card.card_id, "simulateExpiry", trans_link="000000000001.978")
    done = [line for line in lines.all() if line.get("method") == "POST"]

    assert [line["action"] for line in done] == ["simulateAuthorization", "simulateExpiry"]


def test_form_defaults_contain_the_remaining_amount(colleague: WebUser, card: NewCard) -> None:
    for amount in ("12.34", "56.78"):
        colleague.simulate(card.card_id, "simulateAuthorization", **PURCHASE | {"amount": amount})
    begun = re.findall(
        r'id="simulate(?:Clearing|Refund)-amount" name="amount" type="text" value="([^"]*)"', colleague.last.text
    )

    assert begun == ["56.78", ""]


def test_a_forged_or_cross_site_simulation_returns_403(issuer: Issuer, colleague: WebUser, card: NewCard) -> None:
    path = f"/cards/{card.card_id}/simulator"
    sent = {"action": "simulateAuthorization", "draft": "0" * 22, **PURCHASE}
    answers = [
        colleague.post(path, token="x" * 20, form=sent),
        colleague.post(path, headers={"sec-fetch-site": "cross-site"}, form=sent),
    ]

    assert [answer.status for answer in answers] == [403, 403]
    assert issuer.balances(card.account_id)[0] == 500_00


def test_production_pages_have_no_simulator_form(causeway: Causeway, colleague: WebUser, card: NewCard) -> None:
    causeway.hub.settings = replace(causeway.hub.settings, stage="prod")
    answer = colleague.get(f"/cards/{card.card_id}")

    assert answer.status == 200
    assert "imulat" not in answer.text


def test_the_result_of_an_authorization_by_another_card_is_in_minor_units(
    issuer: Issuer, colleague: WebUser, card: NewCard
) -> None:
    held = issuer.purchase(card.card_id, 25_00)
    other = issuer.card()
    colleague.simulate(other.card_id, "simulateReversal", trans_link=f"{held['trans_link']}.{EUR}", amount="5")

    assert outcome(colleague).startswith("Released 500 in minor units is no longer held.")
