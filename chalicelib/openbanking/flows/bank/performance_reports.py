"""Daily reports from version 2 banks on the duration of consents and payments (specification, daily_performance)."""

from __future__ import annotations

from datetime import date

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.claims import Claim
from chalicelib.foundation.requests.engine import Engine
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import Outcome
from chalicelib.openbanking.protocol.bank_calls import DailyPerformance
from chalicelib.openbanking.protocol.errors import Fault, Refusal
from chalicelib.openbanking.protocol.own_answers import Success
from chalicelib.openbanking.records.bank_answers import BankAnswers
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.statistics.day_records import DailyReport, DailyReports, DayOutOfRange


@dataclass(frozen=True, slots=True)
class PerformanceReports:
    """Stores daily performance reports."""

    bank_answers: BankAnswers
    reports: DailyReports
    engine: Engine

    def record_report(self, bank: Bank, request: DailyPerformance, claim: Claim) -> Success:
        """Store a daily report, replacing any earlier report for the same day. Raises: Refusal."""
        answer: Success = {"status": "success"}
        report = DailyReport(
            bank.bic,
            date.fromisoformat(request.date),
            _milliseconds(request.consent_duration),
            _milliseconds(request.payment_duration),
        )

        def decide(_: Facts) -> Outcome[Success]:
            try:
                writes = [self.reports.put_report(report)]
            except DayOutOfRange as error:
                raise Refusal(Fault.DATE, str(error)) from None
            return self.bank_answers.answer(claim, answer, writes)

        return self.engine.carry_out(self.bank_answers.once(claim, decide), self.engine.read([claim.key]))


def _milliseconds(duration: object) -> int | None:
    return None if duration is None else int(str(duration))
