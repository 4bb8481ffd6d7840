"""The bank directory for TPPs: the capabilities and the performance of each bank."""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.bics import spellings
from chalicelib.openbanking.protocol.own_answers import BankEntry, BanksAnswer
from chalicelib.openbanking.protocol.tpp_calls import BankSearchQuery, BanksQuery
from chalicelib.openbanking.records.bank_logos import logo_path
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.statistics.downtimes import OpenDowntimes
from chalicelib.statistics.response_times import ResponseTimes


def list_banks(
    query: BanksQuery, *, public_url: str, banks: Banks, open_downtimes: OpenDowntimes, response_times: ResponseTimes
) -> BanksAnswer:
    """Return a page of the active banks that match the query, ordered by BIC. The result is cached for at least a
    minute.

    Args:
        public_url: the service's address.
    """
    found = [bank for bank in banks.directory() if _matches(bank, query)]
    first = (query.page - 1) * query.limit
    entries = _describe(found[first : first + query.limit], public_url, open_downtimes, response_times)
    return {"banks": entries, "page": query.page, "limit": query.limit, "total": len(found)}


def describe_bank(
    bic: str, *, public_url: str, banks: Banks, open_downtimes: OpenDowntimes, response_times: ResponseTimes
) -> BankEntry:
    """Describe one bank. Raises: Refusal."""
    bank = banks.find(bic)
    if bank is None:
        raise refusals.BANK_UNKNOWN()
    return _describe([bank], public_url, open_downtimes, response_times)[0]


def _describe(
    banks: Sequence[Bank], public_url: str, open_downtimes: OpenDowntimes, response_times: ResponseTimes
) -> list[BankEntry]:
    down = open_downtimes.bics()
    averages = response_times.of_banks([bank.bic for bank in banks])
    return [_entry(bank, public_url, averages[bank.bic], is_reachable=bank.bic not in down) for bank in banks]


def _entry(bank: Bank, public_url: str, average: int | None, *, is_reachable: bool) -> BankEntry:
    path = logo_path(bank.bic, bank.logo_digest)
    return {
        "bic": bank.bic,
        "name": bank.name,
        "country": bank.country,
        "api_version": bank.api_version,
        "scopes": [scope.name for scope in bank.scopes],
        "unified_scopes": bank.unified_scopes,
        "payment_schemes": list(bank.schemes),
        "history_days": bank.history_days,
        "unsigned_amounts": bank.unsigned_amounts,
        "balance_type": bank.balance_type,
        "credit_limit_included": bank.credit_limit_included,
        "no_date_to": bank.no_date_to,
        "reachable": is_reachable,
        "average_ms": average,
        "logo_url": f"{public_url}{path}" if path else None,
    }


def is_named(bank: Bank, text: str) -> bool:
    """Whether a bank's name or BIC contains a text. Case is ignored, and an 8-character BIC equals the BIC with
    ``XXX``.
    """
    wanted = spellings(text.upper()) or (text.upper(),)
    return text.casefold() in bank.name.casefold() or any(each in bank.bic for each in wanted)


def is_found(bank: Bank, query: BankSearchQuery) -> bool:
    """Whether a bank matches the country and the text of a search."""
    return query.country in (None, bank.country) and is_named(bank, query.q or "")


def _matches(bank: Bank, query: BanksQuery) -> bool:
    return (
        is_found(bank, query)
        and (query.scope is None or bank.provides([query.scope]))
        and (query.scheme is None or query.scheme in bank.schemes)
    )
