"""Onboarding: creation of a holder from a request's holder block, and of accounts in a programme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chalicelib.cards.issuing.holder_record import DETAILS, Holder
from chalicelib.cards.ledger.account_record import Account
from chalicelib.cards.programs import group_resolution
from chalicelib.cards.programs.catalogue import AccountProgramme, CardProgramme
from chalicelib.cards.protocol.holder_messages import WithHolder
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.protocol.status_codes import refused_fields
from chalicelib.cards.protocol.values import LIMIT_OF_HOLDER, PERSONAL
from chalicelib.cards.requests.request_context import R, RequestContext
from chalicelib.cards.storage.record import or_default, without_none
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.dynamodb.store import Operation
from chalicelib.foundation.fields.problems import Problem

_OF_BLOCK = {"zip_code": "holder_zipcode", **{name: name for name in WithHolder.model_fields if name in DETAILS}}
_BLOCK = tuple(
    (name, field) for name in DETAILS if (field := _OF_BLOCK.get(name, f"holder_{name}")) in WithHolder.model_fields
)
"""The holder members and the corresponding fields of a holder block."""


_PAST_DATES = (
    *("holder_date_of_birth", "date_of_birth"),
    *("holder_date_of_company_incorporation", "date_of_company_incorporation"),
)
_FUTURE_DATES = ("kyc_document_expiration_date",)


def check_dates(request: Request, now: int) -> None:
    """Check the request's holder dates against the current UTC date. Raises: Refused, with all invalid dates."""
    today, given = timestamp(now)[:10], request.members()
    problems = [
        *(
            Problem(name, "value", "must not be in the future")
            for name in _PAST_DATES
            if given.get(name, today) > today
        ),
        *(
            Problem(name, "value", "must not be in the past")
            for name in _FUTURE_DATES
            if given.get(name, today) < today
        ),
    ]
    if problems:
        raise refused_fields(problems)


def read_with_holder(
    context: RequestContext, holder_id: int | None, kind: type[R], numbers: Sequence[int]
) -> tuple[Holder | None, list[R]]:
    """Read the holder specified in a request, if any, together with other records. Raises: Repeated, Refused."""
    owner = [] if holder_id is None else [Holder.key(holder_id)]
    keys = [*owner, *map(kind.key, numbers)]
    items = context.items(keys) if keys else []
    holder = context.require_visible(Holder, items[0]) if owner else None
    return holder, [context.require_visible(kind, item) for item in items[len(owner) :]]


def new_holder(
    request: WithHolder, context: RequestContext, number: int, programme: AccountProgramme | CardProgramme
) -> Holder:
    """Return a holder from a request's holder block, with the programme's defaults. Raises: Refused."""
    given, kind = request.__dict__, "card" if isinstance(programme, CardProgramme) else "account"
    group = or_default(request.holder_limit_group_id, programme.holder_limit_group_id)
    if group is not None:
        group_resolution.limit_group(context.catalogue, LIMIT_OF_HOLDER, group)
    details = {name: given[field] for name, field in _BLOCK}
    return Holder(
        id=number,
        manager_id=context.manager_id,
        access_level=or_default(request.holder_access_level, programme.holder_access_level),
        holder_type=request.holder_type or PERSONAL,
        details=without_none({**details, "holder_limit_group_id": group}),
        programme=[f"{kind}_programme", programme.id],
    )


def write_holder(
    context: RequestContext, holder: Holder, opened: Sequence[Account], *, is_new: bool
) -> list[Operation]:
    """Return the write operations that create the holder, or add the new accounts to an existing holder."""
    numbers = [account.id for account in opened]
    if is_new:
        return [replace(holder, account_ids=frozenset(numbers) or None).put(context.write_id)]
    return [holder.update_accounts(numbers, context.write_id)] if numbers else []


def new_account(
    request: Request,
    context: RequestContext,
    number: int,
    *,
    holder_id: int,
    currency: int,
    programme: AccountProgramme,
    access_level: int,
    limit_group_id: int | None,
    status: str = "A",
    fee_group_id: int | None = None,
    risk_group_id: int | None = None,
) -> Account:
    """Return an empty account. A group that is ``None`` is replaced with the programme's default group, except for the
    limit group.
    """
    return Account(
        id=number,
        manager_id=context.manager_id,
        access_level=or_default(request.access_level, access_level),
        holder_id=holder_id,
        currency=currency,
        status=status,
        program_id=programme.id,
        fee_group_id=or_default(fee_group_id, programme.fee_group_ids[0]),
        risk_group_id=or_default(risk_group_id, programme.risk_group_ids[0]),
        limit_group_id=limit_group_id,
        updated_at=context.now,
    )
