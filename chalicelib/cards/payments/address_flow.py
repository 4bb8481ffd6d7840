"""External payment addresses: opening, retrieval and status (specification, External payment operations)."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.issuing.holder_record import Holder
from chalicelib.cards.ledger.account_record import Account, SpecialAccount, new_special_account, special_account_key
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.pending_index import waiting_members
from chalicelib.cards.payments.provider_completion import call_provider
from chalicelib.cards.payments.serializers import serialize_address, serialize_address_with_status
from chalicelib.cards.protocol import payment_messages as messages
from chalicelib.cards.protocol.schemes import METHOD_CURRENCIES
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import ASSIGNED, ASSIGNMENT_PENDING, BUSINESS, MOST_ADDRESSES, OF_HOLDER, SPECIAL
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage.record import or_default
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Operation

NAME_LENGTH = 70


def assign_external_payment_address(
    request: messages.AssignExternalPaymentAddress, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[list[messages.AddressRecord]]:
    """Returns a list with one address. The currency must be the currency of the method (5003): 826 for the United
    Kingdom, 978 for SEPA. Exchange rates between this currency and the account's currency must exist in both directions
    (5003). An account has at most 50 addresses (2003). A refusal by the provider is returned as 7001. Until the
    provider responds, the action returns 8001. ``country_ison`` is required if the holder has no country (2006).
    """
    keys = [Account.key(request.account_id)]
    keys += [Card.key(request.card_id)] if request.card_id is not None else []
    account_item, *card_item = context.items(keys)
    account = context.require_visible(Account, account_item)
    card = context.require_visible(Card, card_item[0]) if card_item else None
    if card is not None and account.id not in card.account_ids:
        raise Refused(Status.NO_CARD, "this account has no such card")
    holder = Holder.from_item(context.items([Holder.key(account.holder_id)])[0] or {})
    account.require(context.action)
    country = or_default(request.country_ison, holder.details.get("country_ison"))
    if country is None:
        raise refused_field("country_ison", "required", "is required when the holder has none")
    name = request.account_name or _name_of(holder)
    return _assign_address(request, context, account, card, country, name, sequences=sequences)


def assign_external_payment_address_for_special_account(
    request: messages.AssignExternalPaymentAddressForSpecialAccount, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[list[messages.AddressRecord]]:
    """Special accounts are your own accounts, configured by the operator. They have no holder, no limits and no fees.
    The currency must be the currency of the method (5003): 826 for the United Kingdom, 978 for SEPA. Exchange rates
    between this currency and the account's currency must exist in both directions (5003). An account has at most 50
    addresses (2003). A refusal by the provider is returned as 7001. Until the provider responds, the action returns
    8001.
    """
    number = request.special_account_id
    keys = [special_account_key(context.manager_id, number)]
    keys += [Card.key(request.card_id)] if request.card_id is not None else []
    item, *card_item = context.items(keys)
    entry = context.catalogue.special_accounts.get(number)
    if entry is None or entry.access_level > context.level:
        raise Refused(Status.NO_SPECIAL_ACCOUNT)
    card = context.require_visible(Card, card_item[0]) if card_item else None
    account = SpecialAccount.from_item(item) if item else new_special_account(context.manager_id, entry, context.now)
    country = or_default(request.country_ison, entry.country)
    name = request.account_name or entry.name
    outcome = _assign_address(request, context, account, card, country, name, is_new=item is None, sequences=sequences)
    return replace(outcome, uses=[("special_account", entry.id)])


def change_external_payment_address_status(
    request: messages.ChangeExternalPaymentAddressStatus, context: RequestContext
) -> ActionOutcome[None]:
    """Setting the current status again succeeds. Status B is final."""
    address = context.find(ExternalAddress, request.epm_address_id)
    address.require(context.action)
    change = address.update(context.write_id, status=request.status, reason_code=request.reason_code, note=request.note)
    return ActionOutcome(operations=[change])


def get_external_payment_address(
    request: messages.GetExternalPaymentAddress, context: RequestContext
) -> ActionOutcome[messages.AddressWithStatus]:
    """The response includes the status and the reason for its last change."""
    return ActionOutcome(serialize_address_with_status(context.find(ExternalAddress, request.epm_address_id)))


def get_account_external_payment_addresses(
    request: messages.GetAccountExternalPaymentAddresses, context: RequestContext
) -> ActionOutcome[list[messages.AddressRecord]]:
    """Returns the addresses visible at your access level."""
    account = context.find(Account, request.account_id)
    found = context.find_all(ExternalAddress, sorted(account.address_ids or ()))
    return ActionOutcome([serialize_address(address) for address in found if address.assignment_state == ASSIGNED])


def _assign_address(
    request: messages.AssignExternalPaymentAddress | messages.AssignExternalPaymentAddressForSpecialAccount,
    context: RequestContext,
    account: Account | SpecialAccount,
    card: Card | None,
    country: int,
    name: str,
    *,
    is_new: bool = False,
    sequences: Sequences,
) -> ActionOutcome[list[messages.AddressRecord]]:
    """Create an address without numbers, and request that the provider opens the address. Raises: Refused."""
    method, currency = request.epm_method_id, request.currency_ison
    if card is not None:
        card.require(context.action, context.now)
    is_special = isinstance(account, SpecialAccount)
    there = account.address_ids or frozenset()
    if len(there) >= MOST_ADDRESSES:
        field = "special_account_id" if is_special else "account_id"
        raise refused_field(field, "length", f"already has {MOST_ADDRESSES} addresses, the maximum")
    if METHOD_CURRENCIES[method] != currency:
        raise Refused(Status.CURRENCY_NOT_SUPPORTED, "the method uses a different currency")
    pairs = (currency, account.currency), (account.currency, currency)
    if any(context.catalogue.rate(*pair) is None for pair in pairs):
        raise Refused(Status.CURRENCY_NOT_SUPPORTED, "there is no exchange rate to the account's currency")
    number = sequences.next("external_address")
    address = ExternalAddress(
        id=number,
        manager_id=context.manager_id,
        access_level=or_default(request.access_level, account.access_level),
        method=method,
        type_id=method,
        account_id=account.id,
        account_type=SPECIAL if is_special else OF_HOLDER,
        currency=currency,
        country=country,
        account_name=name,
        holder_id=account.holder_id,
        card_id=request.card_id,
        risk_score=request.risk_score,
        assignment_state=ASSIGNMENT_PENDING,
        **waiting_members(number, context.action, context.claim, context.now),
    )
    numbers = there | {number}
    if is_new:
        with_address: Operation = replace(account, address_ids=numbers).put(context.write_id)
    else:
        with_address = account.update(context.write_id, address_ids=numbers)
    as_read = [card.check_unchanged()] if card is not None else []
    operations = [address.put(context.write_id), with_address, *as_read]
    return ActionOutcome(operations=operations, provider_call=call_provider(address))


def _name_of(holder: Holder) -> str:
    details = holder.details
    if holder.holder_type == BUSINESS and details.get("business_name"):
        return str(details["business_name"])
    names = (details.get(name) for name in ("first_name", "last_name"))
    return " ".join(name for name in names if name is not None)[:NAME_LENGTH]
