"""Daily reports from version 2 banks on the duration of consents and payments (specification, daily_performance)."""

from __future__ import annotations

from datetime import date

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


def record_day(
    bank: Bank,
    request: DailyPerformance,
    claim: Claim,
    *,
    bank_answers: BankAnswers,
    reports: DailyReports,
    engine: Engine,
) -> Success:
    """Store a daily report, replacing any earlier report for the same day. Raises: Refusal."""
    answer: Success = {"status": "success"}
    durations = _milliseconds(request.consent_duration), _milliseconds(request.payment_duration)
    report = DailyReport(bank.bic, date.fromisoformat(request.date), *durations)

    def decide(_: Facts) -> Outcome[Success]:
        try:
            writes = [reports.put_report(report)]
        except DayOutOfRange as error:
            raise Refusal(Fault.DATE, str(error)) from None
        return bank_answers.answer(claim, answer, writes)

    return engine.carry_out(bank_answers.once(claim, decide), engine.read([claim.key]))


def _milliseconds(duration: object) -> int | None:
    return None if duration is None else int(str(duration))
