"""Tests of bank failures: the party at fault, and the part of the bank's message that the TPP receives."""

import pytest

from chalicelib.openbanking.bank_client.bank_failures import BankFailed, CircuitOpen


@pytest.mark.parametrize(
    ("failure", "blamed"),
    [
        (BankFailed("no such account", "refused", status=404), "caller"),
        (BankFailed("try later", "refused", status=429), "bank"),
        (BankFailed("internal error", "refused", status=200, broken=True), "bank"),
        (BankFailed("nonsense", status=200), "bank"),
        (BankFailed("no connection could be made", "never"), "bank"),
    ],
    ids=lambda each: getattr(each, "detail", each),
)
def test_the_caller_is_at_fault_for_a_plain_refusal_and_the_bank_for_all_other_failures(
    failure: BankFailed, blamed: str
) -> None:
    assert failure.responsible == blamed


def test_replacing_the_detail_of_a_bank_failure_does_not_change_other_fields() -> None:
    failure = BankFailed(
        "a secret", "refused", authorize_again=True, quoted=True, broken=True, status=503, retry_after=7, not_asked=True
    )
    failure.given_up = True

    clean = failure.with_detail("***", authorize_again=False)

    assert (clean.detail, clean.authorize_again) == ("***", False)
    same = ("reach", "quoted", "broken", "status", "retry_after", "not_asked", "given_up", "fault", "responsible")
    assert {name: getattr(clean, name) for name in same} == {name: getattr(failure, name) for name in same}


def test_the_failure_of_an_open_circuit_states_that_no_call_was_sent_and_how_long_to_wait() -> None:
    failure = BankFailed.of_open_circuit(CircuitOpen(30))

    assert failure.reach == "never"
    assert failure.not_asked is True
    assert failure.retry_after == 30
    assert "30 s" in failure.detail


def test_unprintable_characters_in_the_detail_of_a_bank_failure_are_replaced() -> None:
    assert BankFailed("no\r\nsuch\x00account").detail == "no  such account"
