"""Look-up of the entries specified in a request, with checks that the programme allows the entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from chalicelib.cards.programs.catalogue import AccountProgramme, CardProgramme, Catalogue
from chalicelib.cards.programs.programmes import EntryId
from chalicelib.cards.protocol.status_codes import Refused, Status, refused_field
from chalicelib.cards.protocol.values import LIMIT_OF_ACCOUNT, LIMIT_OF_CARD, LIMIT_OF_HOLDER

T = TypeVar("T")

_MISSING = {
    "product": Status.NO_PRODUCT,
    "design": Status.NO_CARD_DESIGN,
    "fee_group": Status.NO_FEE_GROUP,
    "usage_group": Status.NO_USAGE_GROUP,
    "risk_group": Status.NO_RISK_GROUP,
}


def card_programme(catalogue: Catalogue, number: int) -> CardProgramme:
    """Return the card programme in the request, if it is allowed. Raises: Refused."""
    return _require(catalogue.card_programmes, number, Status.NO_PROGRAMME, "there is no such card programme")


def account_programme(catalogue: Catalogue, number: int) -> AccountProgramme:
    """Return the account programme in the request, if it is allowed. Raises: Refused."""
    return _require(catalogue.account_programmes, number, Status.NO_PROGRAMME, "there is no such account programme")


def limit_group(catalogue: Catalogue, limit_type: int, number: int) -> EntryId:
    """Return the limit group with this id and type (1 card, 2 account, 3 holder). Raises: Refused."""
    if _require(catalogue.limit_groups, number, Status.NO_LIMIT_GROUP).limit_type != limit_type:
        raise Refused(Status.NO_LIMIT_GROUP, "there is no such limit group of this type")
    return "limit_group", number


def require_allowed(
    catalogue: Catalogue, kind: str, field: str, number: int, allowed: Sequence[int], limit_type: int = LIMIT_OF_CARD
) -> EntryId:
    """Return the entry specified in ``field``, if the entry exists and the programme allows the entry. Raises:
    Refused.
    """
    if kind == "limit_group":
        limit_group(catalogue, limit_type, number)
    else:
        _require(catalogue.of(kind), number, _MISSING[kind])
    if number not in allowed:
        raise refused_field(field, "value", "is not allowed by the programme")
    return kind, number


def choose(
    catalogue: Catalogue, kind: str, field: str, number: int | None, allowed: Sequence[int], current: int | None = None
) -> int:
    """Return the entry specified in ``field`` if the programme allows the entry.

    Without ``field``, return ``current`` or the programme's default. Raises: Refused.
    """
    if number is None:
        return keep_or_default(current, allowed)
    return require_allowed(catalogue, kind, field, number, allowed)[1]


def keep_or_default(current: int | None, allowed: Sequence[int]) -> int:
    """Return the existing entry if the programme allows it, otherwise the programme's default."""
    return current if current is not None and current in allowed else allowed[0]


def account_limit_group(
    catalogue: Catalogue, field: str, number: int | None, allowed: Sequence[int], default: int | None = None
) -> int | None:
    """Return a new account's limit group: the requested group, or the programme's group, if any.

    A programme without limit groups allows all limit groups. Raises: Refused.
    """
    if number is None:
        return default if default is not None else next(iter(allowed), None)
    return require_allowed(catalogue, "limit_group", field, number, allowed or (number,), LIMIT_OF_ACCOUNT)[1]


def fee_groups_of(catalogue: Catalogue, programme: int) -> frozenset[int]:
    """Return the fee groups allowed by the card and account programmes with this id. Raises: Refused."""
    return frozenset(number for each in _programmes(catalogue, programme) for number in each.fee_group_ids)


def limit_groups_of(catalogue: Catalogue, programme: int, limit_type: int) -> frozenset[int]:
    """Return the limit groups of a type that the card and account programmes with this id allow or assign. Raises:
    Refused.

    An account programme without account limit groups allows all account limit groups.
    """
    every = [group.id for group in catalogue.limit_groups.values() if group.limit_type == limit_type]
    found: set[int | None] = set()
    for each in _programmes(catalogue, programme):
        if limit_type == LIMIT_OF_HOLDER:
            found.add(each.holder_limit_group_id)
        elif limit_type == LIMIT_OF_ACCOUNT:
            named = each.account_limit_group_ids if isinstance(each, CardProgramme) else each.limit_group_ids
            found.update(named or every)
        elif isinstance(each, CardProgramme):
            found.update(each.limit_group_ids)
    return frozenset(number for number in found if number in every)


def _programmes(catalogue: Catalogue, number: int) -> Sequence[CardProgramme | AccountProgramme]:
    both = (catalogue.card_programmes.get(number), catalogue.account_programmes.get(number))
    found = [each for each in both if each is not None]
    if not found:
        raise Refused(Status.NO_PROGRAMME)
    return found


def _require(entries: Mapping[int, T], number: int, missing: Status, message: str = "") -> T:
    found = entries.get(number)
    if found is None:
        raise Refused(missing, message)
    return found
