"""Banks with one fault each, and the checks that name the fault."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from chalicelib.foundation import jsontext
from chalicelib.openbanking.protocol import v1, v2
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import Webhook
from tests.infra.conformance.small_bank import OTHER_KEY, STATUSES, Answer, Consent, Members, Payment, SmallBank

SLOW_SECONDS = 0.6


@dataclass(frozen=True)
class Broken:
    """A bank with one fault.

    Attributes:
        caught_by: the check that names the fault.
        may_fail: patterns of the checks that may fail for it.
        level: of the check that names it.
    """

    bank: type[SmallBank]
    version: Version
    caught_by: str
    may_fail: tuple[str, ...]
    level: str = "mandatory"


class AcceptsAnySignature(SmallBank):
    def accepts_signature(self, body: bytes, given: str) -> bool:
        return True


class AcceptsSignaturesOfOtherBytes(SmallBank):
    """It removes white space at the end of what it verifies, and adds it again."""

    def accepts_signature(self, body: bytes, given: str) -> bool:
        return super().accepts_signature(body, given) or super().accepts_signature(body + b"\n", given)


class IgnoresTheKey(SmallBank):
    def accepts_key(self, given: str) -> bool:
        return True


class AcceptsAnyToken(SmallBank):
    def accepts_token(self, given: str) -> bool:
        return True


class AnswersAfterTheEnd(SmallBank):
    def end(self, token: str) -> None:
        """The consent goes on."""


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
        body = v1.VERSION.errors.body(refusal, request_id, 0)
        return Answer(self.version.errors.status(refusal), jsontext.dumps(body).encode())


class AnswersErrorsWithAPage(SmallBank):
    def error(self, refusal: Refusal, request_id: str) -> Answer:
        return Answer(self.version.errors.status(refusal), b"<h1>Error</h1>", {"Content-Type": "text/html"})


class AnswersErrorsWith200(SmallBank):
    def error(self, refusal: Refusal, request_id: str) -> Answer:
        return replace(super().error(refusal, request_id), status=200)


class AnswersAsText(SmallBank):
    def finish(self, webhook: Webhook, answer: Answer) -> Answer:
        return replace(answer, headers={"Content-Type": "text/plain"})


class AnswersLate(SmallBank):
    def finish(self, webhook: Webhook, answer: Answer) -> Answer:
        if webhook is self.version.relayed["account_balance"]:
            time.sleep(SLOW_SECONDS)
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
        """No report."""


class PaysTwice(SmallBank):
    def repeated(self, request_id: str, body: bytes) -> Members | None:
        return None


class ComparesIdsAsText(SmallBank):
    def order_id(self, request_id: str) -> str:
        return request_id


class UsesOnePaymentId(SmallBank):
    def new_payment_id(self) -> str:
        return "P-1"


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


class AcknowledgesNothing(SmallBank):
    def shape(self, webhook: Webhook, members: Members) -> Members:
        return {"status": "ok"} if webhook is self.version.revoke_token else members


class KeepsTheEndToItself(SmallBank):
    def tell_end(self, token: str) -> None:
        """No call."""


RETURNED = ("payment-*.confirmed-returned", "payment-*.refused-returned")
REPORTED = ("payment-*.confirmed-report", "payment-*.refused-report")
BROKEN: tuple[Broken, ...] = (
    Broken(AcceptsAnySignature, v2.VERSION, "accounts.signature-wrong", ("*.signature-*",)),
    Broken(AcceptsSignaturesOfOtherBytes, v2.VERSION, "accounts.signature-other-bytes", ("*.signature-other-bytes",)),
    Broken(IgnoresTheKey, v1.VERSION, "accounts.key-wrong", ("*.key-*",)),
    Broken(AcceptsAnyToken, v2.VERSION, "accounts.token-unknown", ("*.token-*", "end-at-bank.refused")),
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
    Broken(PaysWithoutMoney, v1.VERSION, "payment-single.declined", ("payment-*.declined",)),
    Broken(DeclinesAsAFailure, v2.VERSION, "payment-single.declined-form", ("payment-*.declined-form",)),
    Broken(HasARelativePage, v2.VERSION, "payment-single.confirmation-url", ("payment-*.confirmation-url",)),
    Broken(ListsForeignAccounts, v2.VERSION, "accounts.approved", ("accounts.approved",)),
    Broken(IgnoresRecordCount, v1.VERSION, "account_payments.page-size", ("account_payments.page-size",)),
    Broken(AcknowledgesNothing, v2.VERSION, "revoke_token.answer-form", ("revoke_token.answer-form",)),
    Broken(KeepsTheEndToItself, v1.VERSION, "end-at-bank.reported", ("end-at-bank.reported",)),
)
