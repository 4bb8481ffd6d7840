"""The documents of the card API agree with the code on conversions, transfers and fees."""

import re
from decimal import Decimal

from chalicelib.cards.ledger.charges import fees_of
from chalicelib.cards.ledger.conversion import DOWN, NEAREST, UP, conversion, round_exact
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes
from chalicelib.cards.payments import pending_index, sandbox_provider
from chalicelib.cards.protocol import schemes, values
from chalicelib.cards.protocol.payment_states import PAYMENT_KINDS, PAYMENT_RULES, PAYMENT_STATES
from chalicelib.foundation.fields.registries import currency_numbers
from tests.cards.issuer import EUR, MANAGER, Issuer
from tests.causeway import Causeway
from tests.kit.documents import CARDS, section, tables

PAGE = CARDS


def flat(heading: str) -> str:
    return " ".join(section(PAGE, heading).split())


def cents(text: str) -> int:
    return int(Decimal(text) * 100)


def cells(heading: str, first: str) -> list[list[str]]:
    found, *_ = [each[2:] for each in tables(section(PAGE, heading)) if each[0][0] == first]
    return found


# -- numbers


def test_docs_list_the_conversions_of_the_demonstration_programme(causeway: Causeway) -> None:
    issuer = Issuer(causeway)
    catalogue = issuer.hub.cards.programmes.catalogue(MANAGER)
    numbers = {name: number for number, name in currency_numbers().items()}

    found = cells("## Conversions", "On an account in EUR")
    assert {row[0].split()[0] for row in found} == {"pays", "gets"}
    for way, rate, markup, base, holder, fee in found:
        verb, amount, name = way.split()
        made = conversion(catalogue, cents(amount), numbers[name], EUR, debit=verb == "pays")
        assert made is not None
        assert made.base_rate == Decimal(rate)
        assert made.base_amount == cents(base.rpartition(" ")[2])
        assert made.holder_amount == cents(holder.rpartition(" ")[2])
        assert made.fee == cents(fee)
        assert catalogue.rates[numbers[name], EUR].markup_percent == Decimal(markup.split()[0])


def test_amounts_are_rounded_as_documented() -> None:
    ways = {"Up": UP, "Down": DOWN, "To the nearest minor unit": NEAREST}
    said = {
        ways[text.partition(":")[0].partition(",")[0]]: re.findall("([0-9.]+) becomes ([0-9]+)", text)
        for _, text in cells("## Conversions", "What")
        if "becomes" in text
    }

    assert {way: len(found) for way, found in said.items()} == {UP: 1, DOWN: 1, NEAREST: 2}
    for way, found in said.items():
        assert [round_exact(Decimal(exact), way) for exact, _ in found] == [int(whole) for _, whole in found]


def test_docs_list_the_schemes_and_methods_of_transfers() -> None:
    assert cells("## Transfers", "Scheme") == [
        [scheme, str(method), schemes.SCHEME_NAMES[scheme], "any" if limit is None else f"{Decimal(limit) / 100:.2f}"]
        for method, limits in schemes.SCHEMES.items()
        for scheme, limit in limits.items()
    ]
    methods = cells("# External payments", "Method")
    assert {int(row[0]): int(row[1].split()[0]) for row in methods} == schemes.METHOD_CURRENCIES
    (first, second), (european, slower) = schemes.DEFAULT_SCHEMES.values()
    said = f"The default is {first}, then {second}; in SEPA {european}, then {slower}."
    assert said in flat("## Transfers")


def test_docs_list_the_special_names_of_the_sandbox_provider() -> None:
    words = [sandbox_provider.REFUSE, sandbox_provider.SILENT, sandbox_provider.LOST]

    assert [row[0] for row in cells("## The sandbox provider", "The name begins with")] == words


def test_docs_list_every_state_of_a_payment_and_its_return_action() -> None:
    found = cells("## States of a payment", "Payment")
    kinds = {name.removeprefix("payment "): kind for kind, name in PAYMENT_KINDS.items() if kind != "return"}

    assert {row[0] for row in found} == kinds.keys()
    assert {tuple(row[1].split()) for row in found} == {*PAYMENT_STATES.items()}
    returning = {row[0]: row[3] for row in found if row[1].startswith("R")}
    for action, rule in PAYMENT_RULES.items():
        (kind,) = [kind for (kind, _), status in rule.items() if status is None]
        assert not action.endswith("Return") or action in returning[next(n for n, k in kinds.items() if k == kind)]


def test_docs_state_the_cut_off_time_of_direct_debits() -> None:
    assert f"announces a collection. {values.CUT_OFF_SECONDS // 3600} hours later, at the cut-off" in flat(
        "## Direct debits"
    )
    assert pending_index.ASKING_SECONDS == 60, "and the schedule runs every minute: within two minutes, the page says"


def test_docs_state_the_price_of_the_example_fee(causeway: Causeway) -> None:
    catalogue = Issuer(causeway).hub.cards.programmes.catalogue(MANAGER)
    (entry,) = [each for each in catalogue.fee_groups[304].entries if each.code == "EXTOUT" and not each.country]
    said = flat("## Fees")

    assert entry.fixed == 40
    assert entry.percent == Decimal("0.25")
    assert entry.minimum == 60
    assert entry.maximum == 2000
    assert "with 0.40 EUR plus 0.25 %, at least 0.60 EUR and at most 20.00 EUR" in said
    facts = TransactionAttributes(values.EXTERNAL_OUT, EUR, country=276)
    for transfer, _, _, fee in cells("## Fees", "Transfer"):
        (charged,) = fees_of(catalogue, catalogue.fee_groups[304], facts, cents(transfer.split()[0]), EUR, EUR)
        assert charged.amount == cents(fee)
