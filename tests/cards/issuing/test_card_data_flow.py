"""Tests of card data in responses: each credential receives the data in plain text, masked, encrypted or not at all."""

import base64
from collections.abc import Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

from tests.cards.issuer import ALL_PLAIN, DELIVERY, PIN, Issuer, NewCard, key_pair

FIELDS = ("pan", "pin", "cvc2", "acs_password", "expiry")
GETTERS = {"pan": "getCardNumber", "pin": "getPin", "cvc2": "getCvc2", "acs_password": "getCardAcsPassword"}
MODES = [(field, mode) for field in FIELDS for mode in ("plain", "encrypted", "absent")] + [("pan", "masked")]
PASSWORD = "quiet-Otter 1!"
WISHES = {"card_virtual": 0, "card_pin": PIN, "acs_password": PASSWORD}


def opened(card_id: int, field: str, shown: str) -> str:
    label = f"{card_id}|{field}".encode()
    scheme = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), label)
    return key_pair()[0].decrypt(base64.b64decode(shown, validate=True), scheme).decode()


def with_mode(issuer: Issuer, field: str, mode: str) -> Issuer:
    key = key_pair()[1] if mode == "encrypted" else None
    return issuer.with_credential(f"{field}-{mode}", modes=ALL_PLAIN | {field: mode}, encryption_key=key)


def seen(card_id: int, field: str, mode: str, shown: Any) -> Any:
    if mode != "encrypted":
        return shown
    if field == "expiry":
        return tuple(int(opened(card_id, field, part)) for part in shown)
    return opened(card_id, field, shown)


def expected(field: str, mode: str, clear: Any) -> Any:
    if mode == "absent":
        return None
    return f"{clear[:6]}{'*' * 6}{clear[-4:]}" if mode == "masked" else clear


def clear_of(issuer: Issuer, card_id: int) -> dict[str, Any]:
    details = issuer.data("getCardDetails", card_id=card_id)
    found = {field: issuer.data(action, card_id=card_id)[field] for field, action in GETTERS.items()}
    return found | {"expiry": (details["expiry_year"], details["expiry_month"])}


def of_answer(data: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: data.get(name) for name in GETTERS}
    expiration = data.get("expiration")
    return found | {"expiry": expiration and (expiration["year"], expiration["month"])}


@pytest.mark.parametrize(("field", "mode"), MODES)
@pytest.mark.parametrize("action", ["createCard", "reissueCard"])
def test_a_new_card_returns_its_data_in_the_modes_of_the_credential(
    issuer: Issuer, action: str, field: str, mode: str
) -> None:
    caller = with_mode(issuer, field, mode)
    if action == "createCard":
        data = caller.data("createCard", **whole_card(issuer))
    else:
        card = issuer.card(**WISHES)
        data = caller.data("reissueCard", card_id=card.card_id, card_name_line_3="ZOE", generate_new_pin=0, **DELIVERY)
    clear, found = clear_of(issuer, data["card_id"]), of_answer(data)

    assert (clear["pin"], clear["acs_password"]) == (PIN, PASSWORD)
    for name, value in found.items():
        mode_of = mode if name == field else "plain"
        if name == "acs_password" and mode_of == "absent":
            assert value == ""
        else:
            assert seen(data["card_id"], name, mode_of, value) == expected(name, mode_of, clear[name])
    if mode == "absent" and field != "acs_password":
        assert {"expiry": "expiration"}.get(field, field) not in data


def whole_card(issuer: Issuer) -> dict[str, Any]:
    least = {"card_program_id": 101, "card_country_ison": 276, "card_name_line_3": "ZOE", "holder_id": issuer.holder()}
    return least | DELIVERY | WISHES


@pytest.mark.parametrize(("field", "mode"), MODES)
def test_a_getter_returns_its_field_in_the_mode_of_the_credential(issuer: Issuer, field: str, mode: str) -> None:
    caller, card = with_mode(issuer, field, mode), issuer.card(**WISHES)
    clear = clear_of(issuer, card.card_id)

    details = caller.data("getCardDetails", card_id=card.card_id)
    shown = (details.get("expiry_year"), details.get("expiry_month"))
    if field == "expiry":
        assert seen(card.card_id, field, mode, shown) == ((None, None) if mode == "absent" else clear["expiry"])
        assert ("expiry_year" in details, "expiry_month" in details) == ((mode != "absent"),) * 2
        return
    assert shown == clear["expiry"]
    answer = caller.do(GETTERS[field], card_id=card.card_id)
    if mode == "absent":
        assert (answer.status_code, field in answer.message) == (1103, True)
    else:
        assert set(answer.data) == {field}
        assert seen(card.card_id, field, mode, answer.data[field]) == expected(field, mode, clear[field])


def test_encryption_is_randomized_and_bound_to_card_and_field(issuer: Issuer) -> None:
    caller = issuer.with_credential(
        "all-encrypted", modes=dict.fromkeys(FIELDS, "encrypted"), encryption_key=key_pair()[1]
    )
    card = issuer.card(**WISHES)

    first, second = (caller.data("getPin", card_id=card.card_id)["pin"] for _ in range(2))

    assert first != second
    assert opened(card.card_id, "pin", first) == opened(card.card_id, "pin", second) == PIN
    for wrong in ((card.card_id + 1, "pin"), (card.card_id, "pan")):
        with pytest.raises(ValueError, match=r"[Dd]ecryption failed"):
            opened(*wrong, first)


@pytest.mark.parametrize("mode", ["plain", "encrypted", "absent"])
def test_a_virtual_cards_pin_is_empty_in_every_mode(issuer: Issuer, mode: str) -> None:
    caller = with_mode(issuer, "pin", mode)
    card: NewCard = caller.card()

    assert card.pin == ""
    answer = caller.do("getPin", card_id=card.card_id)
    assert answer.status_code == 1103 if mode == "absent" else answer.data == {"pin": ""}


def test_each_demonstration_credential_receives_card_data_in_the_configured_modes(issuer: Issuer) -> None:
    card = issuer.card(**WISHES)
    support, encrypted, other = (issuer.as_caller(name) for name in ("support", "encrypted", "other"))

    assert support.data("getCardNumber", card_id=card.card_id) == {"pan": f"222300******{card.pan[-4:]}"}
    assert not {"expiry_year", "expiry_month"} & set(support.data("getCardDetails", card_id=card.card_id))
    for field, action in GETTERS.items():
        shown = encrypted.data(action, card_id=card.card_id)[field]
        assert len(base64.b64decode(shown, validate=True)) == 3072 // 8
        assert other.do(action, card_id=card.card_id).status_code == 3002
    assert all(len(part) == 512 for part in encrypted.card().expiration.values())  # type: ignore[union-attr]
