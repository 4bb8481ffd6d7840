"""The vault decrypts a value only with the context of the value's storage location, and detects every changed bit."""

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.foundation.crypto.keyring import Unsealable, Vault


class OneKey:
    def __init__(self, number: int = 1) -> None:
        self._number = number
        self._cipher = AESGCM(AESGCM.generate_key(256))

    def current_data_key(self) -> tuple[int, AESGCM]:
        return self._number, self._cipher

    def data_key(self, number: int) -> AESGCM:
        return {self._number: self._cipher}[number]


KEYS = OneKey()
VAULT = Vault(KEYS)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_an_encrypted_value_is_decrypted_with_the_same_context(text: str, context: str) -> None:
    assert VAULT.unseal(VAULT.seal(text, context), context) == text


def test_encrypted_values_hide_the_text_and_are_all_different() -> None:
    sealed = {VAULT.seal("the bank's api key", "banks/ALPHGB21/api_key") for _ in range(50)}

    assert len(sealed) == 50
    assert not any(b"bank" in value for value in sealed)


def test_an_encrypted_value_moved_to_another_record_cannot_be_decrypted() -> None:
    sealed = VAULT.seal("text", "banks/ALPHGB21/api_key")

    with pytest.raises(Unsealable, match="banks/BETADEF1/api_key cannot be decrypted"):
        VAULT.unseal(sealed, "banks/BETADEF1/api_key")


def test_a_changed_bit_in_an_encrypted_value_is_detected() -> None:
    sealed = VAULT.seal("text", "place")

    for position in range(len(sealed)):
        altered = bytearray(sealed)
        altered[position] ^= 1
        with pytest.raises(Unsealable):
            VAULT.unseal(bytes(altered), "place")


@pytest.mark.parametrize("length", [0, 1, 4, 5, 10, 17, 20])
def test_a_truncated_encrypted_value_cannot_be_decrypted(length: int) -> None:
    sealed = VAULT.seal("text", "place")

    with pytest.raises(Unsealable):
        VAULT.unseal(sealed[:length], "place")


@pytest.mark.parametrize("keys", [OneKey(), OneKey(number=2)])
def test_an_encrypted_value_cannot_be_decrypted_without_the_data_key(keys: OneKey) -> None:
    with pytest.raises(Unsealable):
        Vault(keys).unseal(VAULT.seal("text", "place"), "place")


def test_a_decryption_error_contains_neither_text_nor_key() -> None:
    sealed = VAULT.seal("hunter2", "place")

    with pytest.raises(Unsealable) as caught:
        VAULT.unseal(sealed, "elsewhere")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__suppress_context__
