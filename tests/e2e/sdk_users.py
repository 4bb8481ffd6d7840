"""Programs that use the SDK on the running stack, and the customers who give them consents."""

import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from causeway import tpp as sdk
from chalicelib.demo_bank.faults import SandboxFault
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.psu_browser import Browser, BrowserPage, approve_consent
from tests.e2e.parties import PayingBank

Credentials = dict[str, Any]
FAST = sdk.Retries(waits=(0.01, 0.02, 0.03, 0.04))
IBANS = {1: "GB33BUKB20201555555555", 2: "DE89370400440532013000"}


def browser(stack: dict[str, Any], path: str = "/authorize/callback") -> Browser:
    return Browser(stack["base_url"] + path, lambda *_: None)


def consent_of(
    tpp: sdk.Tpp, stack: dict[str, Any], bank: dict[str, Any], customer: str = "", **options: Any
) -> sdk.Consent:
    verifier, state = sdk.new_code_verifier(), uuid.uuid4().hex
    scopes: Any = list(VERSIONS[bank["api_version"]].scopes)
    asked = tpp.authorize(bic=bank["bic"], scopes=scopes, state=state, code_verifier=verifier)
    back = approve_consent(browser(stack), asked.redirect_url, customer)
    return tpp.redeem_callback(back, state=state, code_verifier=verifier, **options)


def pushed_consent(
    tpp: sdk.Tpp, stack: dict[str, Any], bank: dict[str, Any], redirect_uri: str | None = None
) -> sdk.Consent:
    verifier, state = sdk.new_code_verifier(), uuid.uuid4().hex
    scopes: Any = [one.scope for one in tpp.scopes(bank["bic"]).scopes]
    pushed = tpp.push_authorization(
        bic=bank["bic"], scopes=scopes, redirect_uri=redirect_uri, state=state, code_verifier=verifier
    )
    back = approve_consent(browser(stack), tpp.authorization_url(request_uri=pushed.request_uri))
    return tpp.redeem_callback(back, state=state, redirect_uri=redirect_uri, code_verifier=verifier)


def decline(tpp: sdk.Tpp, stack: dict[str, Any], bank: dict[str, Any]) -> tuple[str, str]:
    asked = tpp.authorize(bic=bank["bic"], scopes=["account.list"] if bank["api_version"] == 1 else ["accounts"])
    person = browser(stack)
    page = person.open(asked.redirect_url)
    assert isinstance(page, BrowserPage)
    back = person.submit(page, next(form for form in page.forms if form.action.endswith("/refuse")))
    assert isinstance(back, str)
    return back, asked.state


def payer_at(paying: PayingBank, tpp: sdk.Tpp) -> sdk.Consent:
    scopes: Any = ["payment.init"] if paying.version == 1 else ["payments.single", "payments.bulk"]
    asked = tpp.authorize(bic=paying.bic, scopes=scopes)
    return tpp.redeem_callback(approve(paying, asked.redirect_url, scopes), state=asked.state)


def approve(paying: PayingBank, redirect_url: str, scopes: Sequence[str]) -> str:
    saved = paying.consent(redirect_url, scopes=scopes)
    assert saved.status_code == 200, saved.text
    back: str = saved.json().get("callback_url") or saved.json()["callbackUrl"]
    return back


def order(stack: dict[str, Any], version: int, amount: str = "1.10", reference: str = "SDK") -> Any:
    """Return a payment order without a debtor account, which the PSU chooses."""
    callback = stack["base_url"] + "/payments/callback"
    if version == 1:
        return sdk.SinglePaymentV1(
            amount=Decimal(amount),
            currency="GBP",
            receiver_name="Oak Street Books",
            receiver_iban=IBANS[1],
            reference=reference,
            callback_url=callback,
        )
    return sdk.SinglePaymentV2(
        creditor_account=sdk.PaymentAccountV2(iban=IBANS[2]),
        creditor_name="Oak Street Books",
        instructed_amount=sdk.InstructedAmountV2(amount=Decimal(amount), currency="EUR"),
        remittance_information_unstructured=reference,
        payment_scheme="SCTI",
        callback_url=callback,
    )


def direct_of(single: sdk.SinglePaymentV1 | sdk.SinglePaymentV2, bic: str) -> sdk.DirectPaymentV1 | sdk.DirectPaymentV2:
    kind = sdk.DirectPaymentV1 if isinstance(single, sdk.SinglePaymentV1) else sdk.DirectPaymentV2
    return kind.from_json({**single.to_json(), "bic": bic})


def bulk_of(single: Any, sender_iban: str) -> Any:
    if isinstance(single, sdk.SinglePaymentV1):
        item = sdk.BulkItemV1(
            amount=single.amount,
            currency=single.currency,
            receiver_name=single.receiver_name,
            receiver_iban=single.receiver_iban,
            reference="SDK",
        )
        return sdk.BulkPaymentV1(
            sender_iban=sender_iban,
            callback_url=single.callback_url,
            totals=[sdk.TotalV1(currency=single.currency, amount=single.amount * 2)],
            payments=[item, item],
        )
    amount = single.instructed_amount
    transfer = sdk.TransferV2(
        creditor_account=single.creditor_account, creditor_name=single.creditor_name, instructed_amount=amount
    )
    return sdk.BulkPaymentV2(
        payment_scheme="SCTI",
        callback_url=single.callback_url,
        instructed_totals=sdk.BulkTotalV2(currency=amount.currency, amount=amount.amount * 2),
        payments=[transfer, transfer],
    )


def events_of(tpp: sdk.Tpp, kind: str) -> list[Any]:
    return [event.data for event in (sdk.parse_event(entry.body) for entry in tpp.events()) if event.type == kind]


def takes_time(fault: SandboxFault) -> bool:
    """Return whether a fault appears only after a clock advance, which requires a separate stack."""
    return bool(fault.consent_seconds) or fault.payment_reference == "TEST-LATE-REJECT"


def account_id(account: sdk.AccountV1 | sdk.AccountReferenceV2) -> str:
    return account.id if isinstance(account, sdk.AccountV1) else account.resource_id
