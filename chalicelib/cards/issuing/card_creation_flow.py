"""createCard creates a card with its accounts, holder, number and PIN, in one transaction.

The card programme supplies defaults for omitted fields (specification, createCard request).
"""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.cards.card_data import pins_and_passwords
from chalicelib.cards.card_data.encryption import CardData
from chalicelib.cards.card_data.numbers import new_pan
from chalicelib.cards.card_data.pins_and_passwords import new_password
from chalicelib.cards.issuing import card_production, card_record
from chalicelib.cards.issuing.card_decryption import pin_members, require_good
from chalicelib.cards.issuing.card_record import Card, month_of, months_later, put_number
from chalicelib.cards.issuing.holder_record import Holder
from chalicelib.cards.issuing.onboarding import check_dates, new_account, new_holder, read_with_holder, write_holder
from chalicelib.cards.issuing.serializers import card_creation_event
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.programs import group_resolution
from chalicelib.cards.programs.catalogue import CardProgramme
from chalicelib.cards.protocol.card_messages import CreateCard
from chalicelib.cards.protocol.card_records import CreatedCard
from chalicelib.cards.protocol.states import NEW
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage.record import or_default
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Operation


def create_card(
    request: CreateCard, context: RequestContext, *, card_data: CardData, sequences: Sequences
) -> ActionOutcome[CreatedCard]:
    """The action either creates new accounts, one per currency, or uses existing accounts with their holders. Omitted
    settings default to the programme's settings. A PIN has 4 digits, which must not be all the same or an ascending or
    descending sequence (6002). ``auto_conversion`` 1 requires a programme that permits conversion (2005). Embossed
    lines, thermal lines and chip names have only characters that the programme's card bureau can print (2004). This
    also applies to virtual cards. A date of birth or incorporation must not be in the future, and
    ``kyc_document_expiration_date`` must not be in the past, in UTC (2005). The new card is not activated.
    """
    check_dates(request, context.now)
    programme = group_resolution.card_programme(context.catalogue, request.card_program_id)
    found, assigned = _read_named(request, context)
    holder = found or new_holder(request, context, sequences.next("holder"), programme)
    opened = _new_accounts(request, context, programme, holder, sequences) if not assigned else []
    card, clear = _new_card(request, context, programme, holder, [*assigned, *opened], card_data, sequences)
    _check_programme(request, context, programme, assigned, opened)
    sent, shipping = card_production.order_body(
        context, card, card_production.delivery_details(request, programme, card.virtual)
    )
    operations: list[Operation] = [
        *write_holder(context, holder, opened, is_new=found is None),
        *(account.put(context.write_id) for account in opened),
        *(account.check_live() for account in assigned),
        card.put(context.write_id),
        card_record.put_row(card, holder.name, clear.pan, context.write_id),
        put_number(card_data.lookup(clear.pan), card, context.write_id),
        *sent,
    ]
    uses = [*card.uses, *shipping, *(use for each in opened[:1] for use in each.uses)]
    uses += holder.uses if found is None else []
    answer = card_production.serialize_created(context, card_data, card, clear)
    return ActionOutcome(answer, operations, uses, events=[card_creation_event(card)])


def _new_accounts(
    request: CreateCard, context: RequestContext, programme: CardProgramme, holder: Holder, sequences: Sequences
) -> list[Account]:
    """Return the accounts to create for the card, one per currency. Raises: Refused."""
    currencies: Sequence[int] = request.card_currency_ison or programme.currencies[:1]
    holder.require_room(len(currencies))
    limit_group_id = group_resolution.account_limit_group(
        context.catalogue,
        "account_limit_group_id",
        request.account_limit_group_id,
        programme.account_limit_group_ids,
        programme.account_limit_group_id,
    )
    return [
        new_account(
            request,
            context,
            number,
            holder_id=holder.id,
            currency=currency,
            programme=context.catalogue.account_programmes[programme.account_program_id],
            access_level=programme.access_level,
            limit_group_id=limit_group_id,
        )
        for number, currency in zip(sequences.take("account", len(currencies)), currencies, strict=True)
    ]


def _new_card(
    request: CreateCard,
    context: RequestContext,
    programme: CardProgramme,
    holder: Holder,
    accounts: Sequence[Account],
    card_data: CardData,
    sequences: Sequences,
) -> tuple[Card, card_production.ClearCardData]:
    members = card_production.card_members(request, context, programme, request.card_virtual, None)
    product_id = group_resolution.choose(
        context.catalogue, "product", "card_product_id", request.card_product_id, programme.product_ids
    )
    number, version = sequences.next("card"), card_data.key_version()
    pan, password = new_pan(programme.bin, programme.pan_length), request.acs_password or new_password()
    pin = None if request.card_virtual else request.card_pin or pins_and_passwords.random_pin()
    expiry_year, expiry_month = months_later(month_of(context.now), _validity_months(request, programme))
    card = Card(
        id=number,
        manager_id=context.manager_id,
        access_level=or_default(request.access_level, programme.access_level),
        holder_id=holder.id,
        account_ids=[account.id for account in accounts],
        currency=accounts[0].currency,
        product_id=product_id,
        sub_product_id=context.catalogue.products[product_id].sub_product_id,
        stored_status=NEW,
        country=request.card_country_ison,
        expiry_year=expiry_year,
        expiry_month=expiry_month,
        request_id=sequences.next("card_request"),
        pan=card_data.seal(number, "pan", pan),
        acs_password=card_data.seal(number, "acs_password", password),
        key_version=version,
        auto_conversion=card_production.may_convert(programme, request.auto_conversion, int(programme.auto_conversion)),
        reference=request.card_reference_id,
        thermal_line_1=request.card_thermal_line_1,
        thermal_line_2=request.card_thermal_line_2,
        **members,
        **(pin_members(number, pan, pin, version, card_data) if pin is not None else {}),
    )
    return card, card_production.ClearCardData(pan, pin, password)


def _read_named(request: CreateCard, context: RequestContext) -> tuple[Holder | None, list[Account]]:
    holder, accounts = read_with_holder(context, request.holder_id, Account, request.account_id or ())
    if any(account.holder_id != of for account, of in zip(accounts, request.account_owner_id or (), strict=True)):
        raise Refused(Status.NO_HOLDER, "this account has no such holder")
    return holder, accounts


def _check_programme(
    request: CreateCard,
    context: RequestContext,
    programme: CardProgramme,
    assigned: Sequence[Account],
    opened: Sequence[Account],
) -> None:
    for account in assigned:
        account.require(context.action)
    if not {account.currency for account in (*assigned, *opened)} <= set(programme.currencies):
        raise Refused(Status.CURRENCY_NOT_SUPPORTED)
    if programme.countries and request.card_country_ison not in programme.countries:
        raise refused_field("card_country_ison", "value", "is not allowed by the programme")
    if request.card_pin is not None:
        require_good(request.card_pin)


def _validity_months(request: CreateCard, programme: CardProgramme) -> int:
    months = or_default(request.card_validity_period, programme.validity_months)
    if months > programme.max_validity_months:
        raise refused_field("card_validity_period", "value", "is longer than the programme allows")
    return months
