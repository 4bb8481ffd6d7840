"""The banks that are measured, and which of them report each day."""

from __future__ import annotations

from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.statistics.days import day_of
from chalicelib.statistics.ingest import ExpectedBank


def expected_banks(banks: Banks) -> list[ExpectedBank]:
    """All registered banks; a bank's version decides whether it reports (daily_performance)."""
    return [_expected_bank(bank) for bank in banks.list_registered()]


def _expected_bank(bank: Bank) -> ExpectedBank:
    """Where it was not written down when a bank was registered, it was when the older of its API keys was made."""
    registered = bank.registered_at or min(int(entry["created_at"]) for entry in bank.api_keys)
    return ExpectedBank(
        bank.bic, bank.name, is_active=bank.active, reports=bank.version.reports_performance, since=day_of(registered)
    )
