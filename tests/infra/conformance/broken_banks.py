"""Test banks with one fault each, and the conformance check that detects the fault."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from chalicelib.foundation import jsontext
from chalicelib.openbanking.protocol import v1_version as v1
from chalicelib.openbanking.protocol import v2_version as v2
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import Webhook
from tests.infra.conformance.faults import (
    AcceptsAnySignature,
    AcceptsAnyToken,
    AcceptsSignaturesOfOtherBytes,
    AcceptsTheBeginningOfTheKey,
    AcceptsTheBeginningOfTokens,
    AcceptsWhatBeginsWithTheKey,
    AlsoVerifiesJsonWrittenAgain,
    CalculatesInBinary,
    ComparesTheKeyWithoutCase,
    ComparesTokensWithoutCase,
    EndsPagesWithNull,
    ExcludesTheLastDay,
    IgnoresPageSize,
    IgnoresTheKey,
    LeavesPendingOutOfBoth,
    ListsTheOldestFirst,
    LosesAnEntryBetweenPages,
    OverlapsPages,
    ReadsTheIdOfTokensOnly,
    RepeatsTheLastPageKey,
    SavesIbansWithBlanks,
    VerifiesJsonWrittenAgain,
    WritesDebitsWithoutSign,
    WritesIbansWithBlanks,
)
from tests.infra.conformance.small_bank import OTHER_KEY, STATUSES, Answer, Consent, Members, Payment, SmallBank
from tests.kit.time import PATIENCE_SECONDS


@dataclass(frozen=True)
class Broken:
    """A bank with one fault.

    Attributes:
        caught_by: the conformance check that detects the fault.
        may_fail: patterns of the checks that may fail because of the fault.
        level: the level of the check in ``caught_by``.
    """

    bank: type[SmallBank]
    version: Version
    caught_by: str
    may_fail: tuple[str, ...]
    level: str = "mandatory"


class AnswersAfterTheEnd(SmallBank):
    def end(self, token: str) -> None:
        """Leave the consent active."""


class IgnoresScopes(SmallBank):
    def check_consent(self, webhook: Webhook, token: str) -> None:
        consent = self.consents.get(token)
        if consent is not None:
            self.consents[token] = Consent(list(self.version.scopes), consent.one_time, consent.spent)
        super().check_consent(webhook, token)


class SignsWithAnotherKey(SmallBank):
    def signing_key(self) -> RSAPrivateKey:
        return OTHER_KEY


class SignsOtherBytes(SmallBank):
    def signed_bytes(self, body: bytes) -> bytes:
        return body + b"\n"


class UsesOneRequestId(SmallBank):
    def new_request_id(self) -> str:
        return "request-1"


class WritesAmountsWithComma(SmallBank):
    def shape(self, webhook: Webhook, members: Members) -> Members:
        if webhook is self.version.relayed["account_balance"]:
            return {"accounts": [{**row, "balance": "250,00"} for row in members["accounts"]]}
        return members


class ForgetsTheCurrency(SmallBank):
    def shape(self, webhook: Webhook, members: Members) -> Members:
        if webhook is self.version.relayed["accounts"]:
            return {"accounts": [{k: v for k, v in row.items() if k != "currency"} for row in members["accounts"]]}
        return members


class WritesCurrenciesAsNumbers(SmallBank):
    def shape(self, webhook: Webhook, members: Members) -> Members:
        if webhook is self.version.relayed["account"]:
            return {"account": {**members["account"], "currency": 826}}
        return members


class DropsLeadingZeros(SmallBank):
    def shape(self, webhook: Webhook, members: Members) -> Members:
        if webhook is self.version.relayed["accounts"]:
            return {"accounts": [{**row, "account_number": "1234567"} for row in members["accounts"]]}
        return members


class SpeaksTheErrorsOfVersion1(SmallBank):
    def error(self, refusal: Refusal, request_id: str) -> Answer:
        _, body = v1.VERSION.errors(refusal, request_id, 0)
        return Answer(self.version.errors(refusal, request_id, 0)[0], jsontext.dumps(body).encode())


class AnswersErrorsWithAPage(SmallBank):
    def error(self, refusal: Refusal, request_id: str) -> Answer:
        return Answer(self.version.errors(refusal, request_id, 0)[0], b"<h1>Error</h1>", {"Content-Type": "text/html"})


class AnswersErrorsWith200(SmallBank):
    def error(self, refusal: Refusal, request_id: str) -> Answer:
        return replace(super().error(refusal, request_id), status=200)


class AnswersAsText(SmallBank):
    def finish(self, webhook: Webhook, answer: Answer) -> Answer:
        return replace(answer, headers={"Content-Type": "text/plain"})


class AnswersLate(SmallBank):
    def finish(self, webhook: Webhook, answer: Answer) -> Answer:
        if webhook is self.version.relayed["account_balance"]:
            return replace(answer, seconds=PATIENCE_SECONDS + 1)
        return answer


class ApprovesFewerScopes(SmallBank):
    def approved(self, scopes: list[str]) -> list[str]:
        return scopes[:-1] if len(scopes) > 1 else scopes


class IgnoresTheCancelUrl(SmallBank):
    def after_refusal(self, request_url: str, scopes: list[str], cancel_url: str) -> str:
        return ""


class SavesARefusedConsent(SmallBank):
    def after_refusal(self, request_url: str, scopes: list[str], cancel_url: str) -> str:
        self.save(request_url, scopes, False)
        return cancel_url


class ShortensTheRequestUrl(SmallBank):
    def seen(self, url: str) -> str:
        return url.partition("&consent_type")[0]


class ForgetsThePaymentId(SmallBank):
    def returned(self, payment: Payment, query: Members) -> Members:
        return {name: value for name, value in query.items() if name != "payment_id"}


class DropsTheQuery(SmallBank):
    def decide_payment(self, payment: Payment, confirmed: bool) -> str:
        payment.callback_url = payment.callback_url.partition("?")[0]
        return super().decide_payment(payment, confirmed)


class ReportsAnUnknownStatus(SmallBank):
    def report(self, payment: Payment) -> None:
        super().report(replace(payment, status="DONE"))


class ReportsEverythingAsConfirmed(SmallBank):
    def report(self, payment: Payment) -> None:
        super().report(replace(payment, status=STATUSES[self.version]["confirmed"]))


class ReportsBackwards(SmallBank):
    def report(self, payment: Payment) -> None:
        super().report(payment)
        super().report(replace(payment, status=STATUSES[self.version]["received"]))


class ReportsNothing(SmallBank):
    def report(self, payment: Payment) -> None:
        """Send no report."""


class PaysTwice(SmallBank):
    def repeated(self, request_id: str, body: bytes) -> Members | None:
        return None


class ComparesIdsAsText(SmallBank):
    def order_id(self, request_id: str) -> str:
        return request_id


class UsesOnePaymentId(SmallBank):
    def new_payment_id(self) -> str:
        return "P-1"


class PaysInAnyCurrency(SmallBank):
    def pays_in(self, currency: str) -> bool:
        return True


class PaysWithoutMoney(SmallBank):
    def covers(self, amount: Decimal) -> bool:
        return True


class DeclinesAsAFailure(SmallBank):
    def error(self, refusal: Refusal, request_id: str) -> Answer:
        answer = super().error(refusal, request_id)
        return replace(answer, status=500) if "enough money" in refusal.message else answer


class HasARelativePage(SmallBank):
    def shape(self, webhook: Webhook, members: Members) -> Members:
        if "confirmation_url" in members:
            return {**members, "confirmation_url": "/decide"}
        return members


class ListsForeignAccounts(SmallBank):
    def listed(self) -> list[Members]:
        other: Mapping[str, Any] = {"account_number": "76543210", "resource_id": "2002"}
        return [self.account(), {**self.account(), **other, "iban": "GB33BUKB20201555555555"}]


class IgnoresRecordCount(SmallBank):
    def payments_1(self, asked: Members) -> Members:
        return super().payments_1({**asked, "record_count": 100})


class ChangesErrors(SmallBank):
    def members_of_error(self) -> Members:
        raise NotImplementedError

    def error(self, refusal: Refusal, request_id: str) -> Answer:
        answer = super().error(refusal, request_id)
        return replace(answer, body=jsontext.dumps(jsontext.loads(answer.body) | self.members_of_error()).encode())


class WritesTimestampsWithoutOffset(ChangesErrors):
    def members_of_error(self) -> Members:
        return {"timestamp": "2026-11-21T13:06:08"}


class NamesAnotherRequest(ChangesErrors):
    def members_of_error(self) -> Members:
        return {"requestId": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"}


class AcknowledgesNothing(SmallBank):
    def shape(self, webhook: Webhook, members: Members) -> Members:
        return {"status": "ok"} if webhook is self.version.revoke_token else members


class KeepsTheEndToItself(SmallBank):
    def tell_end(self, token: str) -> None:
        """Do not notify the hub."""


RETURNED = ("payment-*.confirmed-returned", "payment-*.refused-returned")
REPORTED = ("payment-*.confirmed-report", "payment-*.refused-report")
SPELLED = ("*.signed-bytes", "*.signature-other-spelling")
LIKE_TOKENS = ("*.token-other-secret", "*.token-shortened", "*.token-other-case")
BROKEN: tuple[Broken, ...] = (
    Broken(AcceptsAnySignature, v2.VERSION, "accounts.signature-wrong", ("*.signature-*",)),
    Broken(AcceptsSignaturesOfOtherBytes, v2.VERSION, "accounts.signature-other-bytes", ("*.signature-other-bytes",)),
    Broken(VerifiesJsonWrittenAgain, v2.VERSION, "accounts.signed-bytes", SPELLED),
    Broken(VerifiesJsonWrittenAgain, v1.VERSION, "payment-bulk.signed-bytes", SPELLED),
    Broken(AlsoVerifiesJsonWrittenAgain, v2.VERSION, "accounts.signature-other-spelling", SPELLED),
    Broken(IgnoresTheKey, v1.VERSION, "accounts.key-wrong", ("*.key-*",)),
    Broken(AcceptsTheBeginningOfTheKey, v1.VERSION, "accounts.key-shortened", ("*.key-shortened",)),
    Broken(AcceptsWhatBeginsWithTheKey, v2.VERSION, "accounts.key-longer", ("*.key-longer",)),
    Broken(ComparesTheKeyWithoutCase, v2.VERSION, "accounts.key-other-case", ("*.key-other-case",)),
    Broken(AcceptsAnyToken, v2.VERSION, "accounts.token-unknown", ("*.token-*", "end-at-bank.refused")),
    Broken(ReadsTheIdOfTokensOnly, v1.VERSION, "accounts.token-other-secret", LIKE_TOKENS),
    Broken(ReadsTheIdOfTokensOnly, v2.VERSION, "payment-single.token-other-secret", LIKE_TOKENS),
    Broken(AcceptsTheBeginningOfTokens, v2.VERSION, "accounts.token-shortened", LIKE_TOKENS),
    Broken(ComparesTokensWithoutCase, v1.VERSION, "accounts.token-other-case", LIKE_TOKENS),
    Broken(AnswersAfterTheEnd, v1.VERSION, "accounts.token-ended", ("*.token-ended",)),
    Broken(IgnoresScopes, v2.VERSION, "account_balance.scope-not-approved", ("*.scope-not-approved",)),
    Broken(SignsWithAnotherKey, v2.VERSION, "bank-initiate.signature", ("bank-*.signature",)),
    Broken(SignsOtherBytes, v1.VERSION, "bank-initiate.signature", ("bank-*.signature",)),
    Broken(UsesOneRequestId, v1.VERSION, "bank-initiate.request-id", ("bank-*.request-id",)),
    Broken(WritesAmountsWithComma, v1.VERSION, "account_balance.answer-form", ("account_balance.answer-form",)),
    Broken(ForgetsTheCurrency, v2.VERSION, "accounts.answer-form", ("accounts.answer-form",)),
    Broken(WritesCurrenciesAsNumbers, v2.VERSION, "account.answer-form", ("account.answer-form",)),
    Broken(DropsLeadingZeros, v2.VERSION, "accounts.complete", (), "advice"),
    Broken(SpeaksTheErrorsOfVersion1, v2.VERSION, "accounts.error-form", ("*.error-form", "*.declined-form")),
    Broken(AnswersErrorsWithAPage, v1.VERSION, "accounts.error-form", ("*.error-form", "*.declined-form")),
    Broken(AnswersErrorsWith200, v2.VERSION, "accounts.error-status", ("*.error-status",)),
    Broken(AnswersAsText, v2.VERSION, "accounts.content-type", (), "advice"),
    Broken(AnswersLate, v2.VERSION, "account_balance.answer-time", ("account_balance.answer-time",)),
    Broken(ApprovesFewerScopes, v2.VERSION, "consent.scopes", ("consent.scopes",)),
    Broken(IgnoresTheCancelUrl, v1.VERSION, "cancel.opened", ("cancel.opened",)),
    Broken(SavesARefusedConsent, v2.VERSION, "cancel.no-consent", ("cancel.no-consent",)),
    Broken(ShortensTheRequestUrl, v2.VERSION, "consent.request-url", ("consent.request-url",)),
    Broken(ForgetsThePaymentId, v1.VERSION, "payment-single.confirmed-returned", RETURNED),
    Broken(DropsTheQuery, v2.VERSION, "payment-single.confirmed-returned", RETURNED),
    Broken(ReportsAnUnknownStatus, v2.VERSION, "bank-report_status.members", ("bank-report_status.members",)),
    Broken(ReportsEverythingAsConfirmed, v2.VERSION, "payment-single.refused-report", ("*.refused-report",)),
    Broken(ReportsBackwards, v1.VERSION, "payment-single.final-status", ("*.refused-report",), "advice"),
    Broken(ReportsNothing, v1.VERSION, "payment-single.confirmed-report", REPORTED),
    Broken(PaysTwice, v2.VERSION, "payment-single.repeat", (), "advice"),
    Broken(ComparesIdsAsText, v1.VERSION, "payment-single.repeat-in-capitals", (), "advice"),
    Broken(UsesOnePaymentId, v2.VERSION, "payment-single.payment-id", ("payment-*.payment-id", "payment-*-query")),
    Broken(PaysInAnyCurrency, v1.VERSION, "payment-bulk.other-currency", ("payment-*.other-currency",)),
    Broken(PaysInAnyCurrency, v2.VERSION, "payment-single.other-currency", ("payment-*.other-currency",)),
    Broken(PaysWithoutMoney, v1.VERSION, "payment-single.declined", ("payment-*.declined",)),
    Broken(DeclinesAsAFailure, v2.VERSION, "payment-single.declined-form", ("payment-*.declined-form",)),
    Broken(HasARelativePage, v2.VERSION, "payment-single.confirmation-url", ("payment-*.confirmation-url",)),
    Broken(ListsForeignAccounts, v2.VERSION, "accounts.approved", ("accounts.approved",)),
    Broken(IgnoresRecordCount, v1.VERSION, "account_payments.page-size", ("account_payments.page-size",)),
    Broken(IgnoresPageSize, v2.VERSION, "account_transactions.page-size", ("account_transactions.page-size",)),
    Broken(OverlapsPages, v1.VERSION, "account_payments.next-page", ("account_payments.next-page",)),
    Broken(OverlapsPages, v2.VERSION, "account_transactions.next-page", ("account_transactions.next-page",)),
    Broken(LosesAnEntryBetweenPages, v1.VERSION, "account_payments.all-pages", ("account_payments.all-pages",)),
    Broken(LosesAnEntryBetweenPages, v2.VERSION, "account_transactions.all-pages", ("account_transactions.all-pages",)),
    Broken(RepeatsTheLastPageKey, v2.VERSION, "account_transactions.last-page", ("account_transactions.last-page",)),
    Broken(EndsPagesWithNull, v2.VERSION, "account_transactions.last-page", ("account_transactions.last-page",)),
    Broken(ExcludesTheLastDay, v2.VERSION, "account_transactions.last-day", ("account_transactions.last-day",)),
    Broken(LeavesPendingOutOfBoth, v2.VERSION, "account_transactions.both", ("account_transactions.both",)),
    Broken(ListsTheOldestFirst, v1.VERSION, "account_payments.order", (), "advice"),
    Broken(ListsTheOldestFirst, v2.VERSION, "account_transactions.order", (), "advice"),
    Broken(WritesDebitsWithoutSign, v1.VERSION, "account_payments.sign", (), "advice"),
    Broken(WritesDebitsWithoutSign, v1.VERSION, "account_payment.sign", (), "advice"),
    Broken(WritesDebitsWithoutSign, v2.VERSION, "account_transactions.sign", (), "advice"),
    Broken(CalculatesInBinary, v1.VERSION, "account_payments.amounts", ("account_*.amounts",)),
    Broken(CalculatesInBinary, v2.VERSION, "account_transactions.amounts", ("account_*.amounts",)),
    Broken(WritesIbansWithBlanks, v1.VERSION, "account_payments.ibans", (), "advice"),
    Broken(WritesIbansWithBlanks, v2.VERSION, "accounts.ibans", (), "advice"),
    Broken(WritesIbansWithBlanks, v2.VERSION, "account_transactions.ibans", (), "advice"),
    Broken(SavesIbansWithBlanks, v1.VERSION, "consent.ibans", (), "advice"),
    Broken(WritesTimestampsWithoutOffset, v2.VERSION, "accounts.error-timestamp", ("*.error-timestamp",)),
    Broken(NamesAnotherRequest, v2.VERSION, "accounts.error-request-id", ("*.error-request-id",)),
    Broken(AcknowledgesNothing, v2.VERSION, "revoke_token.answer-form", ("revoke_token.answer-form",)),
    Broken(KeepsTheEndToItself, v1.VERSION, "end-at-bank.reported", ("end-at-bank.reported",)),
)
