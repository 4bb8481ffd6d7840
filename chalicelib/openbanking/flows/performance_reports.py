"""Daily reports from version 2 banks on the duration of consents and payments (specification, daily_performance)."""

from __future__ import annotations

from datetime import date

from chalicelib.foundation.dynamodb.store import ConditionFailed, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.bank_calls import DailyPerformance
from chalicelib.openbanking.protocol.errors import Fault, Refusal
from chalicelib.openbanking.protocol.own_answers import Success
from chalicelib.openbanking.records.bank_idempotency import BankIdempotency, BankIdempotencyClaim
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.statistics.day_records import DailyReport, DailyReports, DayOutOfRange


@dataclass(frozen=True, slots=True)
class PerformanceReports:
    """Stores daily performance reports."""

    store: Store
    bank_idempotency: BankIdempotency
    reports: DailyReports

    def record_report(self, bank: Bank, request: DailyPerformance, claim: BankIdempotencyClaim) -> Success:
        """Store a daily report, replacing any earlier report for the same day. Raises: Refusal."""
        stored: Success | None = self.bank_idempotency.find_answer(claim, self.store.get(*claim.key))
        if stored is not None:
            return stored
        answer: Success = {"status": "success"}
        report = DailyReport(
            bank.bic,
            date.fromisoformat(request.date),
            _milliseconds(request.consent_duration),
            _milliseconds(request.payment_duration),
        )
        try:
            self.store.transact([self.reports.put_report(report), self.bank_idempotency.put_answer(claim, answer)])
        except DayOutOfRange as error:
            raise Refusal(Fault.DATE, str(error)) from None
        except ConditionFailed as failure:
            return self.bank_idempotency.find_answer(claim, failure.items[1]) or answer
        return answer


def _milliseconds(duration: object) -> int | None:
    return None if duration is None else int(str(duration))
