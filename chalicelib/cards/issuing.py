"""createCard and reissueCard: cards with their accounts, holder, number and PIN, in one transaction each.

What a request leaves open is the card programme's (specification, createCard request, reissueCard request).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from chalicelib.cards import disclosure, groups, pins
from chalicelib.cards.account_flow import groups_of, limits_of, room_for
from chalicelib.cards.accounts import Account
from chalicelib.cards.call import Call, Outcome, own_level
from chalicelib.cards.card_data import CardData
from chalicelib.cards.card_data_flow import cvc2_of
from chalicelib.cards.card_flow import pin_members, require_good
from chalicelib.cards.card_numbers import new_pan
from chalicelib.cards.cards import Card, month_of, months_later, taking_number
from chalicelib.cards.catalogue import CardProgramme
from chalicelib.cards.groups import Kept
from chalicelib.cards.holder_flow import new_holder
from chalicelib.cards.holders import Holder
from chalicelib.cards.orders import ordering
from chalicelib.cards.protocol.card_messages import CreateCard
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import VIRTUAL
from chalicelib.cards.sequences import Sequences
from chalicelib.foundation.store import Operation

_DRAWN_FROM = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789"
"""What passwords are drawn from: letters and digits that are not taken for each other."""
_LENGTH = 12


_CHOICES = (
    ("fee_group_id", "fee_group", "card_fee_group_id"),
    ("limit_group_id", "limit_group", "card_limit_group_id"),
    ("usage_group_id", "usage_group", "card_usage_group_id"),
    ("risk_group_id", "risk_group", "risk_rules_group_id"),
    ("design_id", "design", "card_design_id"),
)
"""What a request may choose among what its programme allows: the card's member, the kind of entry, the field."""


@dataclass(frozen=True, slots=True)
class _Owned:
    """Whose the new card is, on which accounts, and the writes that make what is new of it."""

    holder_id: int
    accounts: Sequence[Account]
    operations: Sequence[Operation]
    uses: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Issuing:
    """Makes cards."""

    sequences: Sequences
    card_data: CardData

    def create_card(self, call: Call) -> Outcome:
        request: CreateCard = call.request
        programme = groups.card_programme(call.catalogue, request.card_program_id)
        owned = self._owned(call, programme)
        members = card_members(call, programme, request.card_virtual, None)
        if request.card_pin is not None:
            require_good(request.card_pin)
        product = call.catalogue.products[
            groups.chosen(call.catalogue, "product", "card_product_id", request.card_product_id, programme.product_ids)
        ]
        number, version = self.sequences.next("card"), self.card_data.key_version()
        pan = new_pan(programme.bin, programme.pan_length)
        password = request.acs_password or new_password()
        pin = None if request.card_virtual == VIRTUAL else request.card_pin or pins.random_pin()
        expiry_year, expiry_month = months_later(month_of(call.now), _validity(request, programme))
        card = Card(
            id=number,
            manager_id=call.manager_id,
            access_level=own_level(request, programme.access_level),
            holder_id=owned.holder_id,
            account_ids=[account.id for account in owned.accounts],
            currency=owned.accounts[0].currency,
            product_id=product.id,
            sub_product_id=product.sub_product_id,
            stored_status="N",
            country=_country(request, programme),
            expiry_year=expiry_year,
            expiry_month=expiry_month,
            request_id=self.sequences.next("card_request"),
            pan=self.card_data.seal(number, "pan", pan),
            acs_password=self.card_data.seal(number, "acs_password", password),
            key_version=version,
            auto_conversion=may_convert(programme, request.auto_conversion, int(programme.auto_conversion)),
            reference=request.card_reference_id,
            thermal_line_1=request.card_thermal_line_1,
            thermal_line_2=request.card_thermal_line_2,
            **members,
            **(pin_members(self.card_data, number, pan, pin, version) if pin is not None else {}),
        )
        operations = [
            *owned.operations,
            card.making(call.write_id),
            taking_number(self.card_data.lookup(pan), number, call.write_id),
            *ordering(call, card, request),
        ]
        uses = [*owned.uses, *card_uses(card, request.order_shipping_method)]
        return Outcome(created(call, self.card_data, card, pan, pin, password), operations, uses)

    # -- inside

    def _owned(self, call: Call, programme: CardProgramme) -> _Owned:
        """The card's holder and accounts, found or new. Raises: Repeated, Refused."""
        request: CreateCard = call.request
        holder_key = [Holder.key(request.holder_id)] if request.holder_id is not None else []
        keys = [*holder_key, *(Account.key(number) for number in request.account_id or ())]
        items = call.items(keys) if keys else []
        holder = call.seen(Holder, items[0]) if holder_key else None
        accounts = [call.seen(Account, item) for item in items[len(holder_key) :]]
        for account, owner in zip(accounts, request.account_owner_id or (), strict=bool(accounts)):
            if account.holder_id != owner:
                raise Refused(Status.NO_HOLDER, "there is no such holder of this account")
        for account in accounts:
            account.require(call.action.name)
        currencies = () if accounts else request.card_currency_ison or programme.currencies[:1]
        if not {*currencies, *(account.currency for account in accounts)} <= set(programme.currencies):
            raise Refused(Status.CURRENCY_NOT_SUPPORTED)
        if holder is not None:
            room_for(holder, len(currencies))
        operations: list[Operation] = [account.staying_live() for account in accounts]
        uses: list[tuple[str, int]] = []
        numbers = self.sequences.take("account", len(currencies)) if currencies else []
        if holder is None:
            made = new_holder(call, self.sequences.next("holder"), programme)
            holder_id, uses = made.id, limits_of(made)
            operations.append(replace(made, account_ids=frozenset(numbers) or None).making(call.write_id))
        else:
            holder_id = holder.id
            operations += [holder.getting_accounts(numbers, call.write_id)] if numbers else []
        opened = [
            _opened(call, programme, number, holder_id, currency)
            for number, currency in zip(numbers, currencies, strict=True)
        ]
        operations += [account.making(call.write_id) for account in opened]
        for account in opened[:1]:
            uses += [("account_programme", account.program_id), *groups_of(account)]
        return _Owned(holder_id, [*accounts, *opened], operations, uses)


def _opened(call: Call, programme: CardProgramme, number: int, holder_id: int, currency: int) -> Account:
    """One of the accounts that come with a card."""
    request: CreateCard = call.request
    of_accounts = call.catalogue.account_programmes[programme.account_program_id]
    return Account(
        id=number,
        manager_id=call.manager_id,
        access_level=own_level(request, programme.access_level),
        holder_id=holder_id,
        currency=currency,
        status="A",
        program_id=of_accounts.id,
        fee_group_id=of_accounts.fee_group_ids[0],
        risk_group_id=of_accounts.risk_group_ids[0],
        limit_group_id=groups.account_limit_group(
            call.catalogue,
            "account_limit_group_id",
            request.account_limit_group_id,
            programme.account_limit_group_ids,
            programme.account_limit_group_id,
        ),
        updated_at=call.now,
    )


def card_members(call: Call, programme: CardProgramme, virtual: int, before: Card | None) -> dict[str, Any]:
    """What createCard and reissueCard set alike: programme, kind, groups, design and what stands on the card.

    Without a wish, what the card had ``before`` stays where the programme allows it. Raises: Refused.
    """
    request, catalogue = call.request, call.catalogue
    if not (programme.virtual if virtual else programme.physical):
        raise refused_field("card_virtual" if before is None else "virtual", "value", "is not allowed by the programme")
    return {
        "program_id": programme.id,
        "virtual": virtual,
        "service_code": programme.service_code,
        **{
            member: groups.chosen(
                catalogue,
                kind,
                field,
                getattr(request, field),
                getattr(programme, f"{member}s"),
                None if before is None else Kept(getattr(before, member), before.program_id == programme.id),
            )
            for member, kind, field in _CHOICES
        },
        "name_line_3": request.card_name_line_3,
        "name_line_4": request.card_name_line_4,
        "track_first_name": request.track_data_first_name,
        "track_last_name": request.track_data_last_name,
    }


def card_uses(card: Card, shipping_method: int | None) -> list[tuple[str, int]]:
    """The entries of the set-up that a card uses."""
    uses = [
        ("card_programme", card.program_id),
        ("product", card.product_id),
        ("design", card.design_id),
        ("fee_group", card.fee_group_id),
        ("limit_group", card.limit_group_id),
        ("usage_group", card.usage_group_id),
        ("risk_group", card.risk_group_id),
    ]
    return uses if card.virtual or shipping_method is None else [*uses, ("shipping_method", shipping_method)]


def may_convert(programme: CardProgramme, wished: int | None, otherwise: int) -> int:
    """Whether the card converts by itself: as wished, if the programme permits it. Raises: Refused."""
    converts = otherwise if wished is None else wished
    if converts and not programme.auto_conversion:
        raise refused_field("auto_conversion", "value", "is not permitted by the programme")
    return converts


def created(call: Call, card_data: CardData, card: Card, pan: str, pin: str | None, password: str) -> dict[str, Any]:
    """The answer for a card that was made: each datum as the credential gets to see it."""
    credential = call.credential
    expiry = disclosure.shown_expiry(credential, card.id, card.expiry_year, card.expiry_month)
    values: dict[str, Any] = {
        "pan": disclosure.shown(credential, card.id, "pan", pan),
        "pin": "" if pin is None else disclosure.shown(credential, card.id, "pin", pin),
        "cvc2": disclosure.shown(credential, card.id, "cvc2", cvc2_of(card_data, card, pan)),
        "expiration": expiry and {"year": expiry[0], "month": expiry[1]},
        "acs_password": disclosure.shown(credential, card.id, "acs_password", password) or "",
    }
    return {
        "card_id": card.id,
        "card_request_id": card.request_id,
        "holder_id": card.holder_id,
        "account_id": card.account_ids[0],
        **{name: value for name, value in values.items() if value is not None},
    }


def new_password() -> str:
    """Twelve letters and digits, each password as likely as any other."""
    drawn, number = "", secrets.randbelow(len(_DRAWN_FROM) ** _LENGTH)
    for _ in range(_LENGTH):
        number, place = divmod(number, len(_DRAWN_FROM))
        drawn += _DRAWN_FROM[place]
    return drawn


def _validity(request: CreateCard, programme: CardProgramme) -> int:
    months = request.card_validity_period
    if months is None:
        return programme.validity_months
    if months > programme.max_validity_months:
        raise refused_field("card_validity_period", "value", "is longer than the programme allows")
    return months


def _country(request: CreateCard, programme: CardProgramme) -> int:
    if programme.countries and request.card_country_ison not in programme.countries:
        raise refused_field("card_country_ison", "value", "is not allowed by the programme")
    return request.card_country_ison
