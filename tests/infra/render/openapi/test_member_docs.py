"""The docstring below a member provides the description and the example of the member, also in subclasses."""

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TypedDict

import pytest

from chalicelib.cards import protocol as cards_protocol
from chalicelib.foundation.fields.field_types import Message
from chalicelib.openbanking import protocol as openbanking_protocol
from chalicelib.openbanking.protocol import errors, own_answers, v1_account_messages
from chalicelib.openbanking.protocol.bank_calls import RevokeToken, RevokeTokenV2, SaveConsentV2
from chalicelib.openbanking.protocol.v1_payment_messages import FundsAccount
from chalicelib.openbanking.protocol.v2_account_messages import AllTransactions, Balance, TransactionsRequest
from chalicelib.openbanking.protocol.webhooks import TokenEnded
from infra.render.openapi import example_values
from infra.render.openapi.member_docs import classes, sentence
from infra.render.openapi.member_docs import example as read_example
from infra.render.openapi.models import example, member_example, model_of


class Undescribed(TypedDict):
    """A message that has a member without a description."""

    undescribed: str


@pytest.mark.parametrize(
    ("model", "member", "expected"),
    [
        (Balance, "balance_type", "The type of balance"),
        (TransactionsRequest, "page_key", "The page_key from the previous response; omit it for the first page"),
        (model_of(errors.Error), "title", "A description of the error for people; its wording may change"),
    ],
)
def test_the_docstring_below_a_member_is_the_description_of_the_member(
    model: type[Message], member: str, expected: str
) -> None:
    assert sentence(model, member) == expected


def test_a_subclass_inherits_the_docstrings_of_members() -> None:
    assert sentence(RevokeTokenV2, "access_token") == "The token of the consent, as issued to the bank"
    assert sentence(AllTransactions, "pending") == "Transactions not yet booked"
    assert sentence(model_of(errors.TokenError), "code") == "The error code"


def test_a_subclass_can_describe_an_inherited_member_again() -> None:
    assert sentence(TokenEnded, "access_token") != sentence(RevokeToken, "access_token")


def test_a_docstring_may_have_several_lines_and_single_backticks_for_code() -> None:
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
def test_the_docstring_below_a_member_contains_the_example_of_the_member(
    model: type[Message], member: str, expected: object
) -> None:
    assert member_example(model, member) == expected


def test_examples_of_messages_omit_rarely_sent_members() -> None:
    assert "page_key" not in example(TransactionsRequest)
    assert list(example(v1_account_messages.AccountRequest)) == ["account_id"]
    assert list(example(FundsAccount)) == ["iban"]


def test_a_member_without_docstring_or_example_raises_an_error() -> None:
    undescribed = model_of(Undescribed)

    with pytest.raises(LookupError, match="add it below the member"):
        sentence(undescribed, "undescribed")
    with pytest.raises(LookupError, match="add it to its docstring"):
        member_example(undescribed, "undescribed")


def ancestors(model: type) -> Iterator[type]:
    for base in model.__dict__.get("__orig_bases__", model.__bases__):
        if inspect.isclass(base):
            yield from (base, *ancestors(base))


@pytest.mark.parametrize("package", [openbanking_protocol, cards_protocol], ids=["open banking", "cards"])
def test_a_subclass_inherits_a_member_that_it_describes_without_a_declaration(package: ModuleType) -> None:
    found = 0
    for module in (f"{package.__name__}.{each.name}" for each in iter_modules(package.__path__)):
        for name, members in classes(module).items():
            bases = list(ancestors(getattr(import_module(module), name)))
            for member in (member for member, doc in members.items() if not doc.kind):
                assert any(member in inspect.get_annotations(base) for base in bases), f"{name}.{member}"
                found += 1

    assert found


NAMESAKES = '''
from typing import NotRequired, TypedDict
from pydantic import BaseModel

class Described(TypedDict):
    length: int
    """The length. Example: ``12``."""

class OptionalLength(TypedDict):
    length: NotRequired[int | None]

class LengthInWords(TypedDict):
    length: str

class Model(BaseModel):
    length: int
'''


@pytest.fixture
def namesakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module in which several classes have a member of the same name, but only one class describes the member."""
    path = tmp_path / "namesakes.py"
    path.write_text(NAMESAKES)
    spec = spec_from_file_location("infra.namesakes", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_an_undescribed_member_uses_the_sentence_of_a_member_with_equal_name_and_type(namesakes: ModuleType) -> None:
    assert sentence(namesakes.OptionalLength, "length") == "The length"


@pytest.mark.parametrize("name", ["LengthInWords", "Model"])
def test_an_unrelated_member_of_the_same_name_provides_only_an_example(namesakes: ModuleType, name: str) -> None:
    model = getattr(namesakes, name)

    assert read_example(model, "length", is_object=False) == 12
    with pytest.raises(LookupError, match=f"{name}.length has no docstring"):
        sentence(model, "length")
