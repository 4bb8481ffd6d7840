"""Addresses that the provider is asked to open, and what follows from its reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from boto3.dynamodb.conditions import Attr

from chalicelib.cards.external.addresses import ExternalAddress, taking_numbers
from chalicelib.cards.external.parties import Place
from chalicelib.cards.external.provider import Opened, Opening, Provider, ProviderRefused
from chalicelib.cards.external.shown import address_shown, refused_by_provider
from chalicelib.cards.external.waiting import ANSWERED, Moment
from chalicelib.cards.protocol.values import ASSIGNED, ASSIGNMENT_REFUSED
from chalicelib.foundation.store import Operation, Update


@dataclass(frozen=True, slots=True)
class AddressOrders:
    """What addresses ask the provider for; asked again, it opens the same one."""

    provider: Provider

    def ask(self, address: ExternalAddress, /) -> Opened | ProviderRefused:
        opening = Opening(address.id, address.method, address.currency, address.country, address.account_name)
        try:
            return self.provider.open_address(opening)
        except ProviderRefused as refusal:
            return refusal

    ask_again = ask

    def outcome(
        self, address: ExternalAddress, reply: Opened | ProviderRefused, moment: Moment, /
    ) -> tuple[Sequence[Operation], ExternalAddress]:
        if isinstance(reply, ProviderRefused):
            members = {"assignment_state": ASSIGNMENT_REFUSED, "note": str(reply), **ANSWERED}
            return [address.changing(moment.write_id, **members)], _after(address, members)
        numbers = {name: getattr(reply, name) for name in ("account_number", "sort_code", "iban", "bic", "country")}
        members = numbers | {"assignment_state": ASSIGNED, **ANSWERED}
        after = _after(address, members)
        added = {"address_ids": frozenset([address.id])}
        leading = Update(*Place.of(address).account_key, add=added, condition=Attr("owner").exists())
        changing = address.changing(moment.write_id, **members)
        return [changing, *taking_numbers(after, moment.write_id), leading], after

    def told(self, address: ExternalAddress, /) -> Any:
        if address.assignment_state == ASSIGNMENT_REFUSED:
            raise refused_by_provider(address.note)
        return [address_shown(address)]


def _after(address: ExternalAddress, members: dict[str, Any]) -> ExternalAddress:
    return replace(address, version=address.version + 1, **members)
