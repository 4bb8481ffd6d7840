"""The simulator's forms have the fields of their actions and pass entered values unchanged."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.website.cards.simulation_forms import (
    InvalidForm,
    build_defaults,
    build_offers,
    read_members,
    refusals_by_field,
)
from chalicelib.website.cards.simulations import BY_ACTION, SIMULATIONS, Simulation

LINK, CARD = "000000000012", 7
OFFERED = {
    "currencies": "978",
    "accounts": "5.978",
    "held": f"{LINK}.840",
    "known": f"{LINK}.840",
    "cleared": f"{LINK}.840",
    "collected": "31.392",
    "addresses": "3.978",
}
USE = {"amount": "25.00", "currency_ison": "978", "transaction_type": "0", "entry_mode_type": "5"}
ASKING = ("simulateDispute", "simulateRefund")
"""The simulator actions whose forms have no default amount, so the user must enter an amount."""
SHOP = {"merchant_name": "Shop", "mcc": "5411", "merchant_country_ison": "276"}


def _field_text(form: Mapping[str, str], name: str) -> str:
    return form.get(name, "")


def unchanged(simulation: Simulation) -> dict[str, str]:
    found = {each.name: each.default or "" for each in simulation.fields}
    return found | {each.name: OFFERED[each.offer] for each in simulation.fields if each.offer}


def meant(action: str, **written: str) -> dict[str, Any]:
    return read_members(BY_ACTION[action], CARD, lambda name: written.get(name, ""))


def test_every_form_with_default_values_is_a_valid_request(subtests: pytest.Subtests) -> None:
    for form in SIMULATIONS:
        with subtests.test(form.action):
            action = {**ACTIONS, **SIMULATOR_ACTIONS}[form.action]
            written = unchanged(form) | ({"amount": "5"} if form.action in ASKING else {})
            made = read_members(form, CARD, partial(_field_text, written))
            action.request.read_fields(made)
            assert {each.name for each in form.fields} <= action.request.model_fields.keys()


def test_every_card_network_action_of_the_simulator_has_a_form() -> None:
    others = {"simulateMandate", "simulateDirectDebit", "simulateOutboundResult", "simulateAddendum"}

    assert SIMULATOR_ACTIONS.keys() - others <= BY_ACTION.keys()


def test_an_amount_is_parsed_in_the_selected_currency() -> None:
    assert meant("simulateAuthorization", **USE, **SHOP)["amount"] == 2_500
    assert meant("simulateAuthorization", **USE | {"currency_ison": "392", "amount": "25"}, **SHOP)["amount"] == 25


def test_an_amount_is_parsed_in_the_currency_of_its_transaction() -> None:
    step = {"step": "opened"}

    assert meant("simulateReversal", trans_link=f"{LINK}.840", amount="5") == {"trans_link": LINK, "amount": 500}
    assert meant("simulateDispute", transaction_id="31.392", amount="5", **step)["amount"] == 5


def test_a_clearing_references_an_authorization_or_the_card() -> None:
    collected = {"amount": "5", "currency_ison": "978", "final": "yes"}

    assert meant("simulateClearing", trans_link=f"{LINK}.840", **collected) == {
        "trans_link": LINK,
        "amount": 500,
        "currency_ison": "978",
        "final": 1,
    }
    assert meant("simulateClearing", **collected | {"final": ""}) == {
        "card_id": CARD,
        "amount": 500,
        "currency_ison": "978",
        "final": 0,
    }


def test_an_inbound_payment_uses_the_currency_and_scheme_of_its_address() -> None:
    payment = {"amount": "5", "sender_name": "Ada", "reference": "Top-up"}
    said = {
        number: meant("simulateInboundPayment", epm_address_id=f"3.{number}", **payment) for number in ("978", "826")
    }

    assert {number: (each["currency_ison"], each["scheme"]) for number, each in said.items()} == {
        "978": (978, "SCT"),
        "826": (826, "CHAPS"),
    }


@pytest.mark.parametrize(
    ("action", "written", "told"),
    [
        ("simulateAuthorization", USE | SHOP | {"amount": "much"}, "Amount: Enter an amount of EUR such as 25.00."),
        ("simulateAuthorization", USE | SHOP | {"merchant_name": " "}, "Merchant is missing."),
        ("simulateExpiry", {}, "Authorization is missing."),
        ("simulateAuthorization", USE | SHOP | {"pin": "73"}, "PIN must have 4 digits."),
        ("simulateAuthorization", USE | SHOP | {"pin": "٣٣٣٣"}, "PIN must have 4 digits."),
        ("simulateAuthorization", USE | SHOP | {"cvc2": "73a"}, "CVC2 must have 3 digits."),
        ("simulateExpiry", {"trans_link": LINK}, "Authorization is not one of the choices."),
        ("simulateExpiry", {"trans_link": f"{LINK}.978; "}, "Authorization is not one of the choices."),
    ],
)
def test_an_invalid_simulation_is_rejected_with_its_reason(action: str, written: dict[str, str], told: str) -> None:
    with pytest.raises(InvalidForm) as invalid:
        meant(action, **written)

    assert str(invalid.value) == told


def test_all_errors_of_a_form_are_reported_with_field_labels() -> None:
    wrong = {"amount": "much", "merchant_name": "", "pin": "73", "cvc2": "1"}
    with pytest.raises(InvalidForm) as invalid:
        meant("simulateAuthorization", **USE | SHOP | wrong)

    assert list(invalid.value.errors.items()) == [
        ("amount", "Amount: Enter an amount of EUR such as 25.00."),
        ("merchant_name", "Merchant is missing."),
        ("pin", "PIN must have 4 digits."),
        ("cvc2", "CVC2 must have 3 digits."),
    ]


@pytest.mark.parametrize(
    ("message", "errors"),
    [
        (
            "merchant_name must have at most 40 characters",
            {"merchant_name": "Merchant must have at most 40 characters."},
        ),
        (
            "amount is too much; mcc is unknown",
            {"amount": "Amount is too much.", "mcc": "Kind of merchant is unknown."},
        ),
        ("amount is too much; the card is blocked", {}),
        ("the card is blocked", {}),
    ],
)
def test_service_errors_are_displayed_at_fields_only_if_every_error_refers_to_a_field(
    message: str, errors: dict[str, str]
) -> None:
    labels = {field.name: field.label for field in BY_ACTION["simulateAuthorization"].fields}
    assert refusals_by_field(labels, message) == errors


def authorization(number: int, state: str, **members: Any) -> dict[str, Any]:
    least = {"trans_link": f"{number:012}", "state": state, "currency_ison": 840, "left_amount": 0, "cleared": False}
    return least | members


def card_with(*authorizations: dict[str, Any]) -> dict[str, Any]:
    shown = {"card": {"card_id": CARD}, "accounts": [], "addresses": [], "currencies": [978, 840]}
    return shown | {"authorizations": authorizations}


def links(choices: Mapping[str, str]) -> list[int]:
    return [int(choice.partition(".")[0]) for choice in choices]


def test_a_clearing_defaults_to_the_amount_of_the_newest_hold() -> None:
    shown = card_with(
        authorization(1, "R"),
        authorization(2, "C", cleared=True),
        authorization(3, "X"),
        authorization(4, "H", left_amount=1_234_50),
        authorization(5, "D"),
    )

    assert links(build_offers(shown)["known"]) == [4, 3, 2, 1]
    assert build_defaults(shown)["simulateClearing"] == {"amount": "1,234.50", "currency_ison": "840"}


def test_a_clearing_without_a_hold_defaults_to_no_authorization() -> None:
    assert build_defaults(card_with(authorization(1, "R")))["simulateClearing"] == {"trans_link": ""}


def test_the_refund_form_offers_cleared_authorizations_only() -> None:
    shown = card_with(
        authorization(1, "H", left_amount=5),
        authorization(2, "C", cleared=True),
        authorization(3, "R"),
        authorization(4, "D", cleared=True),
    )

    assert links(build_offers(shown)["cleared"]) == [2, 4]
    assert build_defaults(shown)["simulateRefund"] == {"currency_ison": "840"}
    assert build_defaults(card_with())["simulateRefund"] == {}
