"""Tests of the validity of consents."""

import pytest

from chalicelib.openbanking.records.consents import Consent

_END = 1_772_000_000


def consent(status: str) -> Consent:
    members = dict.fromkeys(Consent.__dataclass_fields__, "") | {"status": status, "valid_until": _END}
    return Consent(**members)  # type: ignore[arg-type]


@pytest.mark.parametrize(("now", "expected"), [(_END - 1, True), (_END, False), (_END + 1, False)])
def test_an_authorised_consent_is_valid_or_used_until_the_last_second_of_its_validity(now: int, expected: bool) -> None:
    assert consent("authorised").is_valid(now) is expected
    assert consent("spent").is_spent(now) is expected


def test_a_revoked_consent_is_neither_valid_nor_used() -> None:
    assert not consent("revoked").is_valid(0)
    assert not consent("revoked").is_spent(0)


def test_an_unexpired_consent_is_either_valid_or_used() -> None:
    assert not consent("spent").is_valid(0)
    assert not consent("authorised").is_spent(0)
