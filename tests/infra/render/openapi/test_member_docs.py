"""The docstring below a member provides its description and example, also in subclasses."""

import ast
import inspect
from types import ModuleType
from typing import TypedDict

import pytest

from chalicelib.cards.protocol import holder_messages, payment_messages, simulator_messages
from chalicelib.foundation.fields.field_types import Message
from chalicelib.openbanking.protocol import errors, own_answers, v1_account_messages
from chalicelib.openbanking.protocol.bank_calls import RevokeToken, RevokeTokenV2, SaveConsentV2
from chalicelib.openbanking.protocol.v1_payment_messages import FundsAccount
from chalicelib.openbanking.protocol.v2_account_messages import AllTransactions, Balance, TransactionsRequest
from chalicelib.openbanking.protocol.webhooks import TokenEnded
from infra.render.openapi import example_values
from infra.render.openapi.member_docs import sentence
from infra.render.openapi.models import example, member_example, model_of


class Undescribed(TypedDict):
    """A message with an undescribed member."""

    undescribed: str


@pytest.mark.parametrize(
    ("model", "member", "expected"),
    [
        (Balance, "balance_type", "The type of balance"),
        (TransactionsRequest, "page_key", "The page_key from the previous response; omit it for the first page"),
        (model_of(errors.Error), "title", "A description of the error for people; its wording may change"),
    ],
)
def test_the_docstring_below_a_member_is_its_description(model: type[Message], member: str, expected: str) -> None:
    assert sentence(model, member) == expected


def test_a_subclass_keeps_the_docstrings_of_its_bases() -> None:
    assert sentence(RevokeTokenV2, "access_token") == "The token of the consent, as issued to the bank"
    assert sentence(AllTransactions, "pending") == "Transactions not yet booked"
    assert sentence(model_of(errors.TokenError), "code") == "The error code"


def test_a_subclass_can_redefine_a_member_with_another_docstring() -> None:
    assert sentence(TokenEnded, "access_token") != sentence(RevokeToken, "access_token")


def test_a_docstring_may_have_several_lines_and_marks_code_with_one_backtick() -> None:
    found = sentence(model_of(errors.Error), "reason_code")

    assert found.startswith("Why a payment failed: `outcome_unknown` (the bank may have it), `not_sent`, ")
    assert "\n" not in found


@pytest.mark.parametrize(
    ("model", "member", "expected"),
    [
        (v1_account_messages.AccountRequest, "account_id", "1031926801"),
        (model_of(own_answers.TokenAnswer), "access_token", example_values.ACCESS_TOKEN),
        (SaveConsentV2, "scopes", ["accounts"]),
        (model_of(own_answers.ConsentEntry), "consent_id", "5f8d0c1e9b7a463f2d1c0b"),
        (model_of(own_answers.BankScope), "service", "AISP"),
        (TransactionsRequest, "page_key", "2"),
    ],
    ids=["below the member", "by name", "in the subclass", "below the first of its name", "of the type", "if sent"],
)
def test_the_docstring_below_a_member_gives_its_example(model: type[Message], member: str, expected: object) -> None:
    assert member_example(model, member) == expected


def test_examples_of_messages_omit_rarely_sent_members() -> None:
    assert "page_key" not in example(TransactionsRequest)
    assert list(example(v1_account_messages.AccountRequest)) == ["account_id"]
    assert list(example(FundsAccount)) == ["iban"]


def test_a_member_without_docstring_or_example_is_an_error() -> None:
    undescribed = model_of(Undescribed)

    with pytest.raises(LookupError, match="add it below the member"):
        sentence(undescribed, "undescribed")
    with pytest.raises(LookupError, match="add it to its docstring"):
        member_example(undescribed, "undescribed")


def declarations(body: list[ast.stmt]) -> dict[str, str]:
    """Return the types and defaults of members, as in the source."""
    lines = (line for line in body if isinstance(line, ast.AnnAssign))
    return {ast.unparse(line.target): ast.unparse(line).partition(": ")[2] for line in lines}


def class_body(model: type) -> list[ast.stmt]:
    (source,) = ast.parse(inspect.getsource(model)).body
    assert isinstance(source, ast.ClassDef)
    return source.body


@pytest.mark.parametrize("module", [holder_messages, payment_messages, simulator_messages])
def test_a_member_described_again_under_type_checking_has_the_inherited_type(module: ModuleType) -> None:
    """Such a declaration has no effect at run time, and mypy does not compare lengths."""
    found = 0
    for model in (each for each in vars(module).values() if inspect.isclass(each) and issubclass(each, Message)):
        bases = [declarations(class_body(base)) for base in model.__mro__[1:] if issubclass(base, Message)]
        for block in (each for each in class_body(model) if isinstance(each, ast.If)):
            for name, described in declarations(block.body).items():
                assert next(base[name] for base in bases if name in base) == described, f"{model.__name__}.{name}"
                found += 1

    assert found
