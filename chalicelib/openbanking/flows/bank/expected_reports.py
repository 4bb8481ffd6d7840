"""The banks included in the statistics, and whether a daily report is expected from each."""

from __future__ import annotations

from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.banks import Banks
from chalicelib.statistics.days import day_of
from chalicelib.statistics.ingest import ExpectedBank


def expected_banks(banks: Banks) -> list[ExpectedBank]:
    """Return all registered banks. The protocol version determines whether a bank sends daily reports
    (daily_performance).
    """
    return [_expected_bank(bank) for bank in banks.list_registered()]


def _expected_bank(bank: Bank) -> ExpectedBank:
    """Return a bank with its registration time. Without ``registered_at``, this is the creation time of the bank's
    oldest API key.
    """
    registered = bank.registered_at or min(int(entry["created_at"]) for entry in bank.api_keys)
    return ExpectedBank(
        bank.bic, bank.name, is_active=bank.active, reports=bank.version.reports_performance, since=day_of(registered)
    )
