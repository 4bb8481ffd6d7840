"""Transactions with a token are idempotent, as in DynamoDB."""

import pytest

from infra.local.transaction_tokens import VALID_SECONDS, TokenRefused, TransactionTokens

FIRST: object = [{"Put": {"Item": {"id": {"S": "1"}}, "TableName": "things"}}]
OTHER: object = [{"Delete": {}}]


class Clock:
    def __init__(self) -> None:
        self.time = 1_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(clock: Clock) -> TransactionTokens:
    return TransactionTokens(clock)


def carry_out(tokens: TransactionTokens, token: str | None = "token", members: object = FIRST) -> bool:
    with tokens.transaction(token, members) as is_new:
        return is_new


def test_a_retried_transaction_within_ten_minutes_is_not_executed(tokens: TransactionTokens, clock: Clock) -> None:
    reordered = [{"Put": {"TableName": "things", "Item": {"id": {"S": "1"}}}}]

    assert carry_out(tokens)
    clock.time += VALID_SECONDS - 1
    assert not carry_out(tokens, members=reordered)
    clock.time += 1
    assert carry_out(tokens)
    assert not carry_out(tokens)


def test_a_transaction_without_a_token_is_executed_each_time(tokens: TransactionTokens) -> None:
    assert [carry_out(tokens, None) for _ in range(2)] == [True, True]


def test_a_transaction_token_with_different_content_is_refused(tokens: TransactionTokens) -> None:
    carry_out(tokens)

    with pytest.raises(TokenRefused) as refused:
        carry_out(tokens, members=OTHER)
    assert refused.value.code == "IdempotentParameterMismatchException"
    assert carry_out(tokens, "another", OTHER)


@pytest.mark.parametrize(
    ("members", "code"), [(FIRST, "TransactionInProgressException"), (OTHER, "IdempotentParameterMismatchException")]
)
def test_a_retry_of_a_transaction_in_progress_is_refused(tokens: TransactionTokens, members: object, code: str) -> None:
    with tokens.transaction("token", FIRST):
        with pytest.raises(TokenRefused) as refused:
            carry_out(tokens, members=members)
        assert refused.value.code == code
    assert not carry_out(tokens)


def test_the_token_of_a_failed_transaction_can_be_used_again(tokens: TransactionTokens) -> None:
    with pytest.raises(LookupError), tokens.transaction("token", FIRST):
        raise LookupError
    assert carry_out(tokens, members=OTHER)
