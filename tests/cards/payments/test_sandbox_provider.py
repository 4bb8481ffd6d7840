"""The sandbox's provider: idempotent orders, even after storage faults, and failures on request."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from stdnum import bic

from chalicelib.cards.payments import modulus_check
from chalicelib.cards.payments.provider import (
    AddressRequest,
    BankAccount,
    Provider,
    ProviderOrder,
    ProviderRefused,
    ProviderSilent,
    Receipt,
)
from chalicelib.cards.payments.sandbox_provider import SandboxProvider
from chalicelib.cards.protocol.schemes import BRITAIN, SEPA, SEPA_COUNTRIES, UK
from chalicelib.foundation.fields.ibans import is_iban
from tests.causeway import Causeway

GBP, EUR, BRAZIL, GERMANY, FRANCE = 826, 978, 76, 276, 250
SHOP = BankAccount("Corner Shop", iban="DE89370400440532013000")
_payments = itertools.count(1)


@pytest.fixture(scope="module")
def module_causeway(shared_causeway: Causeway) -> Causeway:
    return shared_causeway.again()


@pytest.fixture
def provider(module_causeway: Causeway) -> Provider:
    return SandboxProvider(module_causeway.hub.store)


def order(name: str = SHOP.name, **members: Any) -> ProviderOrder:
    payment = ProviderOrder(next(_payments), "payment", SEPA, EUR, 1250, (), replace(SHOP, name=name), "rent", None)
    return replace(payment, **members)


def accepted(sent: ProviderOrder, scheme: str = "SCTINST") -> Receipt:
    return Receipt(accepted=True, reference=9_000_000_000 + sent.payment_id, scheme=scheme)


@contextmanager
def silent() -> Iterator[None]:
    with pytest.raises(ProviderSilent):
        yield


# -- addresses


def test_a_british_address_has_a_sort_code_a_valid_account_number_and_an_iban(provider: Provider) -> None:
    opened = provider.open_address(AddressRequest(17, UK, GBP, GERMANY, "Zoë O'Neil"))

    assert opened.sort_code == "089999"
    assert opened.account_number == "00000178"
    assert opened.bic is None
    assert opened.country == BRITAIN
    assert modulus_check.is_valid(opened.sort_code or "", opened.account_number or "")
    assert opened.iban == "GB59CSWY08999900000178"
    assert is_iban(opened.iban)


@pytest.mark.parametrize("letters", SEPA_COUNTRIES)
def test_a_european_address_has_an_iban_and_a_bic_of_the_same_country(provider: Provider, letters: str) -> None:
    opened = provider.open_address(AddressRequest(17, SEPA, EUR, SEPA_COUNTRIES[letters], "Zoë O'Neil"))
    country = "DE" if letters == "IS" else letters

    assert opened.iban
    assert opened.iban.startswith(country)
    assert opened.bic == f"CSWY{country}2X"
    assert bic.is_valid(opened.bic)
    assert opened.country == SEPA_COUNTRIES[country]
    assert opened.sort_code is opened.account_number is None


def test_an_address_for_a_country_outside_sepa_is_opened_in_germany(provider: Provider) -> None:
    assert provider.open_address(AddressRequest(17, SEPA, EUR, BRAZIL, "Zoë O'Neil")).country == GERMANY


def test_two_instances_open_an_address_with_the_same_numbers(module_causeway: Causeway, provider: Provider) -> None:
    opening = AddressRequest(17, SEPA, EUR, FRANCE, "Zoë O'Neil")
    elsewhere = SandboxProvider(module_causeway.another_process().store)

    assert provider.open_address(opening) == elsewhere.open_address(opening)
    assert provider.open_address(opening) != provider.open_address(replace(opening, address_id=18))


@pytest.mark.parametrize(
    ("opening", "reason"),
    [
        (AddressRequest(17, UK, EUR, BRITAIN, "Zoë"), "a different currency"),
        (AddressRequest(17, SEPA, GBP, GERMANY, "Zoë"), "a different currency"),
        (AddressRequest(17, SEPA, EUR, GERMANY, "Refused Ltd"), "this account name"),
        (AddressRequest(10_000_000, UK, GBP, BRITAIN, "Zoë"), "are taken"),
    ],
)
def test_an_address_that_cannot_be_opened_is_rejected_with_the_reason(
    provider: Provider, opening: AddressRequest, reason: str
) -> None:
    with pytest.raises(ProviderRefused, match=reason):
        provider.open_address(opening)


# -- orders


@pytest.mark.parametrize("kind", ["payment", "return"])
def test_an_accepted_order_can_be_found(provider: Provider, kind: Any) -> None:
    sent = order(kind=kind)

    assert provider.find(sent.payment_id) is None
    assert provider.submit(sent) == provider.find(sent.payment_id) == accepted(sent)


def test_a_duplicate_order_is_executed_once_with_the_same_receipt(
    module_causeway: Causeway, provider: Provider
) -> None:
    """A second instance also returns the receipt of the first instance, and storage contains one row."""
    sent = order()
    elsewhere = SandboxProvider(module_causeway.another_process().store)
    first = provider.submit(sent)

    assert elsewhere.submit(sent) == first
    assert elsewhere.submit(replace(sent, schemes=("SCT",))) == first
    rows = module_causeway.hub.store.rows("external-payments", ("owner", f"provider#{sent.payment_id}"))
    assert [row["part"] for row in rows] == ["order"]


def test_requested_schemes_are_tried_in_order(provider: Provider) -> None:
    sent = order(schemes=("SCT", "SCTINST"))

    assert provider.submit(sent) == accepted(sent, "SCT")


def test_an_amount_above_the_limits_of_all_requested_schemes_is_rejected(provider: Provider) -> None:
    sent = order(schemes=("SCTINST",), amount=10_000_001)

    assert provider.submit(sent) == provider.find(sent.payment_id)
    assert provider.submit(sent) == Receipt(accepted=False, reason="no scheme accepts this amount")


# -- failures on demand


@pytest.mark.parametrize("kind", ["payment", "return"])
@pytest.mark.parametrize("name", ["REFUSE", "refuse me", "Refused Ltd"])
def test_an_order_to_a_payee_named_refuse_is_always_rejected(provider: Provider, name: str, kind: Any) -> None:
    sent = order(name, kind=kind)
    refused = Receipt(accepted=False, reason="the sandbox refuses this name")

    assert [provider.submit(sent), provider.submit(sent), provider.find(sent.payment_id)] == [refused] * 3


@pytest.mark.parametrize("kind", ["payment", "return"])
def test_the_first_response_to_an_order_to_a_payee_named_silent_is_lost(provider: Provider, kind: Any) -> None:
    sent = order("Silent Night Ltd", kind=kind)

    with silent():
        provider.submit(sent)

    assert provider.find(sent.payment_id) == provider.submit(sent) == accepted(sent)


@pytest.mark.parametrize("kind", ["payment", "return"])
def test_an_order_to_a_payee_named_lost_reaches_the_provider_at_the_second_attempt(
    provider: Provider, kind: Any
) -> None:
    sent = order("LOST", kind=kind)

    with silent():
        provider.submit(sent)

    assert provider.find(sent.payment_id) is None
    assert provider.submit(sent) == provider.submit(sent) == provider.find(sent.payment_id) == accepted(sent)


# -- storage that is gone


def test_a_provider_without_storage_raises_provider_silent(module_causeway: Causeway, provider: Provider) -> None:
    sent = order()
    with module_causeway.storage_gone("put"), silent():
        provider.submit(sent)
    with module_causeway.storage_gone("get"), silent():
        provider.find(sent.payment_id)

    assert provider.find(sent.payment_id) is None


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("name", [SHOP.name, "LOST"])
def test_an_order_is_executed_once_despite_a_storage_failure(
    module_causeway: Causeway, provider: Provider, name: str, applied: bool
) -> None:
    sent = order(name)

    with module_causeway.answer_lost("put", applied=applied), silent():
        provider.submit(sent)
    if name == "LOST" and not applied:
        with silent():
            provider.submit(sent)

    assert provider.submit(sent) == provider.find(sent.payment_id) == accepted(sent)
