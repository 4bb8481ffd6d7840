"""Accounts: creation, status, programme and groups (specification, Account operations)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chalicelib.cards.issuing.card_record import MOST_ACCOUNTS, Card
from chalicelib.cards.issuing.holder_record import Holder
from chalicelib.cards.issuing.onboarding import check_dates, new_account, new_holder, read_with_holder, write_holder
from chalicelib.cards.issuing.serializers import account_status_events, program_change_events, serialize_account
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.programs import group_resolution
from chalicelib.cards.programs.catalogue import AccountProgramme
from chalicelib.cards.protocol import account_messages as messages
from chalicelib.cards.protocol.states import CLOSED, LIVE_ACCOUNT
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import LIMIT_OF_ACCOUNT
from chalicelib.cards.requests.request_context import ActionOutcome, RequestContext
from chalicelib.cards.storage.sequences import Sequences
from chalicelib.foundation.dynamodb.store import Operation


def create_account(
    request: messages.CreateAccount, context: RequestContext, *, sequences: Sequences
) -> ActionOutcome[messages.CreatedAccount]:
    """Omitted groups default to the programme's first group. If the programme has no limit group, no limit group is
    set. With ``skip_holder_validation`` 0, the cards must belong to the holder. A date of birth or incorporation must
    not be in the future, and ``kyc_document_expiration_date`` must not be in the past, in UTC (2005).
    """
    check_dates(request, context.now)
    programme = group_resolution.account_programme(context.catalogue, request.program_id)
    found, cards = _owner_and_cards(context, request)
    holder = found or new_holder(request, context, sequences.next("holder"), programme)
    account = _new_account(request, context, programme, holder, sequences)
    for card in cards:
        card.require(context.action, context.now)
    if cards and account.status not in LIVE_ACCOUNT:
        raise Refused(Status.ACCOUNT_STATUS)
    if account.currency not in programme.currencies:
        raise Refused(Status.CURRENCY_NOT_SUPPORTED)
    operations: list[Operation] = [
        *write_holder(context, holder, [account], is_new=found is None),
        account.put(context.write_id),
        *(card.update(context.write_id, account_ids=[*card.account_ids, account.id]) for card in cards),
    ]
    uses = [*account.uses, *(holder.uses if found is None else [])]
    return ActionOutcome({"id": account.id, "holder_id": holder.id}, operations, uses)


def change_account_status(request: messages.ChangeAccountStatus, context: RequestContext) -> ActionOutcome[None]:
    """Status C requires zero balances (4008) and is final. The event ``account.status_changed`` has the new and the
    previous status.
    """
    account = context.find(Account, request.account_id)
    account.require(context.action)
    if request.account_status == CLOSED and not account.is_empty:
        raise Refused(Status.WRONG_STATE, "an account can be closed only when its balances are zero")
    change = account.update(
        context.write_id,
        status=request.account_status,
        reason_code=request.reason_code,
        note=request.note,
        updated_at=context.now,
    )
    events = account_status_events(account, account.status, request.account_status, request.reason_code)
    return ActionOutcome(operations=[change], events=events)


def change_account_program_id(request: messages.ChangeAccountProgramId, context: RequestContext) -> ActionOutcome[None]:
    """The programme must be one of your account programmes (3004). The account keeps every group that the programme
    allows. Other groups are replaced with the programme's defaults. getAccounts returns the groups, and the event
    ``account.program_changed`` lists the replaced groups.
    """
    account = context.find(Account, request.account_id)
    programme = group_resolution.account_programme(context.catalogue, request.account_program_id)
    account.require(context.action)
    if account.currency not in programme.currencies:
        raise Refused(Status.CURRENCY_NOT_SUPPORTED, "the programme does not support the account's currency")
    members: dict[str, Any] = {
        "program_id": programme.id,
        "fee_group_id": group_resolution.keep_or_default(account.fee_group_id, programme.fee_group_ids),
        "risk_group_id": group_resolution.keep_or_default(account.risk_group_id, programme.risk_group_ids),
    }
    if programme.limit_group_ids:
        members["limit_group_id"] = group_resolution.keep_or_default(account.limit_group_id, programme.limit_group_ids)
    moved = replace(account, **members)
    change = account.update(context.write_id, **members, updated_at=context.now)
    return ActionOutcome(operations=[change], uses=moved.uses, events=program_change_events(account, moved))


def assign_account_to_risk_rule_group(
    request: messages.AssignAccountToRiskRuleGroup, context: RequestContext
) -> ActionOutcome[None]:
    """The programme must allow the group (2005)."""
    return _assign_group(context, request.account_id, "risk_group", "risk_rule_group_id", request.risk_rule_group_id)


def assign_account_to_fee_rule_group(
    request: messages.AssignAccountToFeeRuleGroup, context: RequestContext
) -> ActionOutcome[None]:
    """The programme must allow the group (2005)."""
    return _assign_group(context, request.account_id, "fee_group", "fee_group_id", request.fee_group_id)


def assign_account_to_limit_rule_group(
    request: messages.AssignAccountToLimitRuleGroup, context: RequestContext
) -> ActionOutcome[None]:
    """The programme must allow the group (2005)."""
    return _assign_group(context, request.account_id, "limit_group", "limit_group_id", request.limit_group_id)


def get_accounts(request: messages.GetAccounts, context: RequestContext) -> ActionOutcome[list[messages.AccountRecord]]:
    """Returns a list with the requested account, or with all accounts of the requested card. A card and an account that
    do not belong together are refused with 3002.
    """
    if request.card_id is None:
        assert request.account_id is not None
        return ActionOutcome([serialize_account(context.find(Account, request.account_id))])
    if request.account_id is None:
        card = context.find(Card, request.card_id)
        return ActionOutcome([serialize_account(account) for account in context.find_all(Account, card.account_ids)])
    items = context.items([Card.key(request.card_id), Account.key(request.account_id)])
    card, account = context.require_visible(Card, items[0]), context.require_visible(Account, items[1])
    if account.id not in card.account_ids:
        raise Refused(Status.NO_CARD, "this account has no such card")
    return ActionOutcome([serialize_account(account)])


def _owner_and_cards(context: RequestContext, request: messages.CreateAccount) -> tuple[Holder | None, list[Card]]:
    holder, cards = read_with_holder(context, request.holder_id, Card, request.cards or ())
    if holder is not None:
        holder.require_room(1)
    for card in cards:
        if not request.skip_holder_validation and (holder is None or card.holder_id != holder.id):
            raise Refused(Status.NO_CARD, "this holder has no such card")
        if len(card.account_ids) >= MOST_ACCOUNTS:
            reason = f"includes a card that already has {MOST_ACCOUNTS} accounts, the maximum"
            raise refused_field("cards", "length", reason)
    return holder, cards


def _new_account(
    request: messages.CreateAccount,
    context: RequestContext,
    programme: AccountProgramme,
    holder: Holder,
    sequences: Sequences,
) -> Account:
    catalogue = context.catalogue
    return new_account(
        request,
        context,
        sequences.next("account"),
        holder_id=holder.id,
        currency=request.currency_ison,
        programme=programme,
        access_level=programme.access_level,
        status=request.account_status,
        fee_group_id=group_resolution.choose(
            catalogue, "fee_group", "fee_group_id", request.fee_group_id, programme.fee_group_ids
        ),
        risk_group_id=group_resolution.choose(
            catalogue, "risk_group", "risk_rules_group_id", request.risk_rules_group_id, programme.risk_group_ids
        ),
        limit_group_id=group_resolution.account_limit_group(
            catalogue, "limit_group_id", request.limit_group_id, programme.limit_group_ids
        ),
    )


def _assign_group(
    context: RequestContext, account_id: int, kind: str, field: str, group_id: int
) -> ActionOutcome[None]:
    account = context.find(Account, account_id)
    programme = group_resolution.account_programme(context.catalogue, account.program_id)
    allowed = getattr(programme, f"{kind}_ids") or (group_id,)
    group = group_resolution.require_allowed(context.catalogue, kind, field, group_id, allowed, LIMIT_OF_ACCOUNT)
    account.require(context.action)
    change = account.update(context.write_id, **{f"{kind}_id": group_id}, updated_at=context.now)
    return ActionOutcome(operations=[change], uses=[group])
