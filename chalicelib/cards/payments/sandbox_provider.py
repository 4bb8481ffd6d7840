"""The sandbox provider of external payments: it opens addresses and accepts orders; no money moves.

Its books are items of the table of external payments, so that all instances of the service see the same. Names show
what can go wrong, in capitals or small letters:

- an order to a name that begins with ``REFUSE`` is refused;
- one to a name that begins with ``SILENT`` is accepted, but the first answer is lost: ``find`` knows the order, and
  when it is sent again it is answered;
- one to a name that begins with ``LOST`` never arrives the first time: ``find`` does not know it, and when it is sent
  again it is accepted;
- an address for an account name that begins with ``REFUSE`` is not opened.

For a return, too, it is the name of whom it goes to that counts: the one who had sent the money.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from chalicelib.cards.payments import provider
from chalicelib.cards.payments.pending_index import TABLE
from chalicelib.cards.payments.sandbox_account_numbers import BANK, SORT_CODE, british_iban, british_number, sepa_iban
from chalicelib.cards.protocol.schemes import BRITAIN, METHOD_CURRENCIES, SEPA_COUNTRIES, UK, choose_scheme
from chalicelib.cards.storage.record import without_none
from chalicelib.foundation.dynamodb.store import ConditionFailed, Item, Store, StoreError, absent
from chalicelib.foundation.identifiers import new_id

REFUSE, SILENT, LOST = "REFUSE", "SILENT", "LOST"
_FIRST_REFERENCE = 9_000_000_000


class SandboxProvider:
    """Keeps the promises of ``Provider`` with nothing but the store; one that cannot be reached makes it silent."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open_address(self, opening: provider.AddressRequest) -> provider.OpenedAddress:
        if METHOD_CURRENCIES.get(opening.method) != opening.currency:
            raise provider.ProviderRefused("the method has another currency")
        if opening.account_name.upper().startswith(REFUSE):
            raise provider.ProviderRefused("the sandbox refuses this account name")
        opened = _find_numbers(opening)
        if opened is None:
            raise provider.ProviderRefused("all account numbers of the sandbox are taken")
        return opened

    def submit(self, order: provider.ProviderOrder) -> provider.Receipt:
        if _is_to(order.destination, LOST):
            attempt = _order_item(order, "lost")
            if self._put_or_read(attempt) == attempt:
                raise provider.ProviderSilent("the order never arrived")
        item = _order_item(order, "order", **without_none(asdict(_decide_order(order))))
        stands = self._put_or_read(item)
        if _is_to(order.destination, SILENT) and stands == item:
            raise provider.ProviderSilent("the answer was lost")
        return _read_receipt(stands)

    def find(self, payment_id: int) -> provider.Receipt | None:
        try:
            found = self._store.get(TABLE, _order_key(payment_id, "order"))
        except StoreError as failure:
            raise provider.ProviderSilent("the sandbox cannot be reached") from failure
        return _read_receipt(found) if found else None

    def _put_or_read(self, item: Item) -> Item:
        """The stored item after this attempt to write it: ``item`` itself, or an earlier one."""
        try:
            self._store.put(TABLE, item, absent("owner"))
        except ConditionFailed as failure:
            assert failure.item is not None, "something stands there"
            return failure.item
        except StoreError as failure:
            raise provider.ProviderSilent("the sandbox cannot be reached") from failure
        return item


def _is_to(destination: provider.BankAccount, word: str) -> bool:
    return destination.name.upper().startswith(word)


def _decide_order(order: provider.ProviderOrder) -> provider.Receipt:
    if _is_to(order.destination, REFUSE):
        return provider.Receipt(accepted=False, reason="the sandbox refuses this name")
    scheme = choose_scheme(order.method, order.schemes, order.amount)
    if scheme is None:
        return provider.Receipt(accepted=False, reason="no scheme takes this amount")
    return provider.Receipt(accepted=True, reference=_FIRST_REFERENCE + order.payment_id, scheme=scheme)


def _order_key(payment_id: int, part: str) -> Item:
    return {"owner": f"provider#{payment_id}", "part": part}


def _order_item(order: provider.ProviderOrder, part: str, **members: Any) -> Item:
    """The stored item of an order, with a mark of the attempt that wrote it."""
    about = {"kind": order.kind, "method": order.method, "currency": order.currency, "amount": order.amount}
    return {**_order_key(order.payment_id, part), **about, **members, "written_by": new_id()}


def _read_receipt(item: Item) -> provider.Receipt:
    return provider.Receipt(item["accepted"], item.get("reference"), item.get("scheme"), item.get("reason"))


def _find_numbers(opening: provider.AddressRequest) -> provider.OpenedAddress | None:
    """The numbers that belong to an address; ``None`` when all were given."""
    if opening.method == UK:
        number = british_number(opening.address_id)
        return provider.OpenedAddress(number, SORT_CODE, british_iban(number), None, BRITAIN) if number else None
    iban = sepa_iban(opening.country, opening.address_id)
    return provider.OpenedAddress(None, None, iban, f"{BANK}{iban[:2]}2X", SEPA_COUNTRIES[iban[:2]]) if iban else None
