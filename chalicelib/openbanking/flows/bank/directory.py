"""The bank directory for TPPs: what each bank can do, and how it performs."""

from __future__ import annotations

from collections.abc import Sequence

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol import refusals
from chalicelib.openbanking.protocol.bics import spellings
from chalicelib.openbanking.protocol.own_answers import BankEntry, BanksAnswer
from chalicelib.openbanking.protocol.tpp_calls import BankSearchQuery, BanksQuery
from chalicelib.openbanking.records.bank_logos import logo_path
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.statistics.downtimes import OpenDowntimes
from chalicelib.statistics.response_times import ResponseTimes


@dataclass(frozen=True, slots=True)
class BankDirectory:
    """Lists the active banks; ``public_url`` is the service's address. All it reads is cached for a minute or more."""

    public_url: str
    banks: Banks
    open_downtimes: OpenDowntimes
    response_times: ResponseTimes

    def list_banks(self, query: BanksQuery) -> BanksAnswer:
        """A page of the banks that match the query, ordered by BIC."""
        found = [bank for bank in self.banks.directory() if _matches(bank, query)]
        first = (query.page - 1) * query.limit
        entries = self._describe(found[first : first + query.limit])
        return {"banks": entries, "page": query.page, "limit": query.limit, "total": len(found)}

    def describe_bank(self, bic: str) -> BankEntry:
        """One bank. Raises: Refusal."""
        bank = self.banks.find(bic)
        if bank is None:
            raise refusals.BANK_UNKNOWN()
        return self._describe([bank])[0]

    def _describe(self, banks: Sequence[Bank]) -> list[BankEntry]:
        down = self.open_downtimes.bics()
        averages = self.response_times.of_banks([bank.bic for bank in banks])
        return [self._entry(bank, averages[bank.bic], is_reachable=bank.bic not in down) for bank in banks]

    def _entry(self, bank: Bank, average: int | None, *, is_reachable: bool) -> BankEntry:
        path = logo_path(bank.bic, bank.logo_digest)
        return {
            "bic": bank.bic,
            "name": bank.name,
            "country": bank.country,
            "api_version": bank.api_version,
            "scopes": [scope.name for scope in bank.scopes],
            "payment_schemes": list(bank.schemes),
            "history_days": bank.history_days,
            "reachable": is_reachable,
            "average_ms": average,
            "logo_url": f"{self.public_url}{path}" if path else None,
        }


def is_named(bank: Bank, text: str) -> bool:
    """Whether a bank's name or BIC contains a text, in any case; or its BIC in the other spelling is the text."""
    wanted = spellings(text.upper()) or (text.upper(),)
    return text.casefold() in bank.name.casefold() or any(each in bank.bic for each in wanted)


def is_found(bank: Bank, query: BankSearchQuery) -> bool:
    """Whether a search finds a bank."""
    return query.country in (None, bank.country) and is_named(bank, query.q or "")


def _matches(bank: Bank, query: BanksQuery) -> bool:
    return (
        is_found(bank, query)
        and (query.scope is None or query.scope in bank.scope_names)
        and (query.scheme is None or query.scheme in bank.schemes)
    )
