"""The sandbox provider of external payments opens addresses and accepts orders without moving money.

All instances of the service share the provider's state in the table of external payments. Names that begin with one of
these words, in upper or lower case, simulate failures:

- ``REFUSE``: an order to this name is refused.
- ``SILENT``: an order to this name is accepted, but the first response is lost. ``find`` returns the order, and
  submitting the order again succeeds.
- ``LOST``: the first order to this name is lost. ``find`` does not return the order, and submitting the order again
  succeeds.
- ``REFUSE`` as an account name: the address is not opened.

A return goes to the sender of the original payment, so the sender's name applies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from chalicelib.cards.payments import provider
from chalicelib.cards.payments.pending_index import TABLE
from chalicelib.cards.payments.sandbox_account_numbers import BANK, SORT_CODE, british_iban, british_number, sepa_iban
from chalicelib.cards.protocol.schemes import BRITAIN, METHOD_CURRENCIES, SEPA_COUNTRIES, UK, choose_scheme
from chalicelib.cards.storage.record import without_none
from chalicelib.foundation.dynamodb.store import Item, Put, Store, StoreError, absent
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.requests.engine import Engine, if_permitted

REFUSE, SILENT, LOST = "REFUSE", "SILENT", "LOST"
_FIRST_REFERENCE = 9_000_000_000


class SandboxProvider:
    """The sandbox's ``Provider``, which uses the store. If the store is unavailable, the provider does not respond."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open_address(self, opening: provider.AddressRequest) -> provider.OpenedAddress:
        if METHOD_CURRENCIES.get(opening.method) != opening.currency:
            raise provider.ProviderRefused("the method uses a different currency")
        if opening.account_name.upper().startswith(REFUSE):
            raise provider.ProviderRefused("the sandbox refuses this account name")
        opened = _find_numbers(opening)
        if opened is None:
            raise provider.ProviderRefused("all account numbers in the sandbox are taken")
        return opened

    def submit(self, order: provider.ProviderOrder) -> provider.Receipt:
        if _is_to(order.destination, LOST):
            attempt = _order_item(order, "lost")
            if self._put_or_read(attempt) == attempt:
                raise provider.ProviderSilent("the order never arrived")
        item = _order_item(order, "order", **without_none(asdict(_decide_order(order))))
        stands = self._put_or_read(item)
        if _is_to(order.destination, SILENT) and stands == item:
            raise provider.ProviderSilent("the response was lost")
        return _read_receipt(stands)

    def find(self, payment_id: int) -> provider.Receipt | None:
        with _reachable():
            found = self._store.get(TABLE, _order_key(payment_id, "order"))
        return _read_receipt(found) if found else None

    def _put_or_read(self, item: Item) -> Item:
        """Return the stored item, which is ``item`` if this attempt wrote it, and otherwise an earlier item."""
        put = Put(TABLE, item, absent("owner"))
        with _reachable():
            return Engine(self._store).carry_out(if_permitted([put], item, lambda facts: facts.item_of(put)))


@contextmanager
def _reachable() -> Iterator[None]:
    try:
        yield
    except StoreError as failure:
        raise provider.ProviderSilent("the sandbox cannot be reached") from failure


def _is_to(destination: provider.BankAccount, word: str) -> bool:
    return destination.name.upper().startswith(word)


def _decide_order(order: provider.ProviderOrder) -> provider.Receipt:
    if _is_to(order.destination, REFUSE):
        return provider.Receipt(accepted=False, reason="the sandbox refuses this name")
    scheme = choose_scheme(order.method, order.schemes, order.amount)
    if scheme is None:
        return provider.Receipt(accepted=False, reason="no scheme accepts this amount")
    return provider.Receipt(accepted=True, reference=_FIRST_REFERENCE + order.payment_id, scheme=scheme)


def _order_key(payment_id: int, part: str) -> Item:
    return {"owner": f"provider#{payment_id}", "part": part}


def _order_item(order: provider.ProviderOrder, part: str, **members: Any) -> Item:
    about = {"kind": order.kind, "method": order.method, "currency": order.currency, "amount": order.amount}
    return {**_order_key(order.payment_id, part), **about, **members, "written_by": new_id()}


def _read_receipt(item: Item) -> provider.Receipt:
    return provider.Receipt(item["accepted"], item.get("reference"), item.get("scheme"), item.get("reason"))


def _find_numbers(opening: provider.AddressRequest) -> provider.OpenedAddress | None:
    if opening.method == UK:
        number = british_number(opening.address_id)
        return provider.OpenedAddress(number, SORT_CODE, british_iban(number), None, BRITAIN) if number else None
    iban = sepa_iban(opening.country, opening.address_id)
    return provider.OpenedAddress(None, None, iban, f"{BANK}{iban[:2]}2X", SEPA_COUNTRIES[iban[:2]]) if iban else None
