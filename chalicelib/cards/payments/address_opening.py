"""Addresses that the provider is asked to open, and what follows from its reply."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from chalicelib.cards.payments.account_ref import AccountRef
from chalicelib.cards.payments.address_record import ExternalAddress, number_keys, put_numbers
from chalicelib.cards.payments.pending_index import ANSWERED
from chalicelib.cards.payments.provider import LONGEST_WORDS, AddressRequest, OpenedAddress, Provider, ProviderRefused
from chalicelib.cards.payments.provider_completion import ProviderOutcome
from chalicelib.cards.payments.serializers import refused_by_provider, serialize_address
from chalicelib.cards.protocol.payment_messages import AddressRecord
from chalicelib.cards.protocol.values import ASSIGNED, ASSIGNMENT_REFUSED
from chalicelib.cards.storage.record import WriteStamp
from chalicelib.foundation.dynamodb.store import Store


@dataclass(frozen=True, slots=True)
class AddressOpening:
    """What addresses ask the provider for; asked again, it opens the same one."""

    store: Store
    provider: Provider

    def ask(self, address: ExternalAddress, /) -> OpenedAddress | ProviderRefused:
        opening = AddressRequest(address.id, address.method, address.currency, address.country, address.account_name)
        try:
            return self.provider.open_address(opening)
        except ProviderRefused as refusal:
            return refusal

    ask_again = ask

    def outcome(
        self, address: ExternalAddress, reply: OpenedAddress | ProviderRefused, stamp: WriteStamp, /
    ) -> ProviderOutcome[ExternalAddress]:
        if isinstance(reply, ProviderRefused):
            return self._refuse(address, str(reply)[:LONGEST_WORDS], stamp)
        numbers = {name: getattr(reply, name) for name in ("account_number", "sort_code", "iban", "bic", "country")}
        members = numbers | {"assignment_state": ASSIGNED, **ANSWERED}
        after = address.with_changes(**members)
        if any(item and item["address_id"] != address.id for item in self.store.batch_get(number_keys(after))):
            return self._refuse(address, "the provider gave a number that leads elsewhere", stamp)
        return ProviderOutcome([address.update(stamp.write_id, **members), *put_numbers(after, stamp.write_id)], after)

    def answer(self, address: ExternalAddress, _: str, /) -> list[AddressRecord]:
        if address.assignment_state == ASSIGNMENT_REFUSED:
            raise refused_by_provider(address.note)
        return [serialize_address(address)]

    def _refuse(self, address: ExternalAddress, reason: str, stamp: WriteStamp) -> ProviderOutcome[ExternalAddress]:
        """The address is none of the account's any more."""
        account_ref = AccountRef.of(address)
        account = account_ref.account(self.store.get(*account_ref.account_key))
        members = {"assignment_state": ASSIGNMENT_REFUSED, "note": reason, **ANSWERED}
        left = (account.address_ids or frozenset()) - {address.id}
        gone = account.update(stamp.write_id, address_ids=left or None)
        return ProviderOutcome([address.update(stamp.write_id, **members), gone], address.with_changes(**members))


def _with_changes(address: ExternalAddress, members: dict[str, Any]) -> ExternalAddress:
    return replace(address, version=address.version + 1, **members)
