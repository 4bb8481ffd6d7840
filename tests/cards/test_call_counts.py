"""Tests of the DynamoDB round trips of every action: at most 2 for reads and 3 for writes."""

from typing import Any

import pytest

from chalicelib.cards.payments.provider import ProviderOrder, Receipt
from chalicelib.cards.payments.sandbox_provider import SandboxProvider
from chalicelib.cards.programs import programmes
from tests.cards.case import LOOK, QUERY, RESERVING, SHARDS, WRITE, Case
from tests.cards.cases import ANNOUNCED, CASES, REPORT_CASES, of_new_card, of_transfer, warmed
from tests.cards.issuer import DELIVERY, EUR, GBP, HOLDER_BLOCK, USD, Issuer, key_pair
from tests.causeway import Causeway
from tests.kit.storage import record_calls, record_transactions

MOST = {"read": 2, "reveal": 2, "write": 3}
REPORTS = tuple(str(case) for case in REPORT_CASES if not case.writes)
LEADING_ON = (
    *REPORTS,
    "getAccounts of a card",
    "getHolder of a card",
    "getHolderAccounts",
    "getAccountExternalPaymentAddresses",
)
"""Reads that take 3 round trips with a reference: a record, a related record, and the claim with the stored response.
"""
LONGER = (ANNOUNCED,)
"""The only action with more than 3 calls. The simulator reads a mandate, then its address, and then its account."""


@pytest.fixture
def issuer(causeway: Causeway) -> Issuer:
    return warmed(Issuer(causeway))


def test_reads_make_at_most_2_round_trips_and_writes_at_most_3_with_listed_exceptions() -> None:
    """The test counts the calls before the provider call. Parallel calls count as one round trip."""

    def over(case: Case, calls: list[str]) -> bool:
        together = len(SHARDS) - 1 if (*SHARDS,) == (*(each for each in calls if each == QUERY),) else 0
        together += case.looks == RESERVING and len(calls) > len(RESERVING)
        return len(calls) - together - len(case.asked) > MOST[case.action.effect]

    assert {str(case) for case in CASES if over(case, case.calls)} == {*LONGER}
    assert {str(case) for case in CASES if over(case, case.calls_with_reference)} == {*LONGER, *LEADING_ON}
    assert [str(case) for case in CASES if len(case.calls_of_repeat) > MOST[case.action.effect]] == []


@pytest.mark.parametrize("reference", [False, True])
def test_a_transfer_makes_2_reads_and_1_transaction_before_the_provider_call(
    issuer: Issuer, reference: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = of_transfer()(issuer) | ({"request_reference_id": issuer.reference()} if reference else {})
    before: list[str] = []
    submit = SandboxProvider.submit

    with record_calls(issuer.causeway) as calls:

        def submit_after_noting(provider: SandboxProvider, order: ProviderOrder) -> Receipt:
            before.extend(calls)
            return submit(provider, order)

        monkeypatch.setattr(SandboxProvider, "submit", submit_after_noting)
        issuer.data("transferToExternalPayment", **members)

    assert before == [LOOK, LOOK, WRITE]


# -- what is written together


LISTED = "Put card"
"""The write of a row in the list of all cards. This write is also named ``Put card``, because the sort keys of the row
and the card have the same prefix.
"""


def test_creating_a_card_with_a_new_holder_and_3_currencies_is_one_transaction_of_7_operations(issuer: Issuer) -> None:
    members = of_new_card(card_currency_ison=[EUR, GBP, USD], **HOLDER_BLOCK)
    with record_calls(issuer.causeway) as calls, record_transactions(issuer.causeway) as made:
        issuer.data("createCard", **members)

    assert calls == [WRITE]
    assert made == [["Put holder", *["Put account"] * 3, "Put card", LISTED, "Put pan"]]


def test_creating_a_physical_card_with_a_reference_is_one_transaction_of_10_operations(issuer: Issuer) -> None:
    members = of_new_card(card_currency_ison=[EUR, GBP, USD], **HOLDER_BLOCK, **DELIVERY)
    with record_calls(issuer.causeway) as calls, record_transactions(issuer.causeway) as made:
        issuer.data("createCard", **members | {"card_virtual": 0, "request_reference_id": issuer.reference()})

    assert calls == [WRITE]
    made_things = ["Put holder", *["Put account"] * 3, "Put card", LISTED, "Put pan", "Put order"]
    assert made == [["Put card-api", "Put card-api", *made_things]]


def test_a_3ds_value_in_an_event_requires_no_additional_round_trip(issuer: Issuer) -> None:
    card = issuer.card_in("A").card_id

    def calls() -> list[str]:
        issuer.authentication(card)
        with record_calls(issuer.causeway) as made:
            issuer.authentication(card)
        return list(made)

    with issuer.causeway.manager_wants_events():
        silent = calls()
        with issuer.causeway.manager_delivers_values(key_pair()[1]):
            assert calls() == silent


# -- what is taken in advance


def test_a_card_creation_makes_at_most_3_round_trips_when_no_reserved_identifier_is_left(issuer: Issuer) -> None:
    holder = issuer.holder()
    for members in ({"holder_id": holder}, HOLDER_BLOCK):
        sequences = issuer.hub.cards.sequences
        sequences.left = dict.fromkeys(sequences.left, range(0))
        with record_calls(issuer.causeway) as calls:
            issuer.data("createCard", **of_new_card(request_reference_id=issuer.reference(), **members))

        assert len(calls) <= MOST["write"], calls


def test_only_the_first_use_of_catalogue_entries_requires_an_additional_round_trip(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waves: list[int] = []

    def noted(calls: list[Any]) -> list[Any]:
        waves.append(len(calls))
        return [call() for call in calls]

    monkeypatch.setattr(programmes, "together", noted)
    issuer.hub.cards.programmes.used.clear()
    for _ in range(2):
        issuer.data("createCard", **of_new_card(**HOLDER_BLOCK))

    assert len(waves) == 1
