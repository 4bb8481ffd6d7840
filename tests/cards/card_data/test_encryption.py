"""Tests of card data encryption: a ciphertext is random and valid only for one card and field.

The service looks up a card by a keyed hash of the card number.
"""

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.cards.card_data.encryption import CardData, CardKeys, Sealed
from chalicelib.foundation.crypto.keyring import Keyring, Unsealable, Vault
from tests.causeway import START
from tests.kit.emulator import FakeKms, FakeSecrets, NoDataKeys
from tests.kit.time import ManualClock

PAN = "4111111111111111"
within = settings(max_examples=30)
TEXTS = st.text(min_size=1, max_size=127).map("§{}".format)
"""Texts with the prefix §, which occur in no other data. Without the prefix, Hypothesis can also generate constants
of the source code, such as addresses. When the tests end, no table may contain a text that was encrypted as a password.
"""


@pytest.fixture(scope="module")
def data() -> CardData:
    secrets, kms, clock = FakeSecrets(), FakeKms(), ManualClock(START)
    keyring = Keyring(secrets, kms, "causeway-test-keys", clock)
    keyring.initialise()
    keys = CardKeys(secrets, kms, "causeway-test-card-keys", clock)
    keys.initialise()
    return CardData(Vault(keyring), keys)


@within
@given(st.integers(1, 10**20), st.sampled_from(get_args(Sealed)), TEXTS)
def test_an_encrypted_value_can_be_decrypted_for_its_card_and_field(
    data: CardData, card_id: int, field: Sealed, text: str
) -> None:
    assert data.open(card_id, field, data.seal(card_id, field, text)) == text


@pytest.mark.parametrize(("card_id", "field"), [(1002, "pan"), (1001, "pin"), (100, "pan"), (10010, "pan")])
def test_an_encrypted_value_cannot_be_decrypted_for_another_card_or_field(
    data: CardData, card_id: int, field: Sealed
) -> None:
    sealed = data.seal(1001, "pan", PAN)

    with pytest.raises(Unsealable) as refused:
        data.open(card_id, field, sealed)
    assert PAN not in str(refused.value)


def test_an_encrypted_value_with_a_changed_bit_cannot_be_decrypted(data: CardData) -> None:
    sealed = data.seal(1001, "pin", "1902")

    for place in range(len(sealed)):
        altered = sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :]
        with pytest.raises(Unsealable):
            data.open(1001, "pin", altered)


def test_encrypting_a_pin_twice_produces_different_ciphertexts(data: CardData) -> None:
    assert len({data.seal(1001, "pin", "1902") for _ in range(20)}) == 20


def test_a_card_number_has_one_lookup_hash_that_does_not_contain_the_number(data: CardData) -> None:
    found = data.lookup(PAN)

    assert data.lookup(PAN) == found
    assert len(found) == 64
    assert PAN not in found
    assert data.lookup("4111111111111129") != found
    assert data.fingerprint(PAN) != found


def test_the_lookup_hash_depends_on_the_key(data: CardData) -> None:
    """Without the key, a person who has the hashes cannot find a card number by hashing all possible numbers."""
    other = CardKeys(FakeSecrets(), FakeKms(), "causeway-other-card-keys", ManualClock(START))
    other.initialise()

    assert CardData(Vault(NoDataKeys()), other).lookup(PAN) != data.lookup(PAN)
