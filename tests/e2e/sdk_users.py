"""Programs that use the SDK on the running stack, and the customers who give them consents."""

import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from causeway import tpp as sdk
from chalicelib.demo_bank.faults import SandboxFault
from infra.psu_browser import Browser, BrowserPage, approve_consent
from tests.e2e.parties import PayingBank

Credentials = dict[str, Any]
FAST = sdk.Retries(waits=(0.01, 0.02, 0.03, 0.04))
IBANS = {1: "GB33BUKB20201555555555", 2: "DE89370400440532013000"}
CURRENCIES = {1: "GBP", 2: "EUR"}
SCOPES: list[sdk.Scope] = [
    *("accounts:read", "balances:read", "transactions:read"),
    *("payments:write", "bulk_payments:write", "funds:read"),
]


def browser(stack: dict[str, Any], path: str = "/authorize/callback") -> Browser:
    return Browser(stack["base_url"] + path, lambda *_: None)


def consent_of(
    tpp: sdk.Tpp, stack: dict[str, Any], bank: dict[str, Any], customer: str = "", **options: Any
) -> sdk.Consent:
    """Request a consent of a bank's customer for all unified scopes."""
    verifier, state = sdk.new_code_verifier(), uuid.uuid4().hex
    asked = tpp.authorize(bic=bank["bic"], scopes=SCOPES, state=state, code_verifier=verifier)
    back = approve_consent(browser(stack), asked.redirect_url, customer)
    return tpp.redeem_callback(back, state=state, code_verifier=verifier, **options)


def pushed_consent(
    tpp: sdk.Tpp, stack: dict[str, Any], bank: dict[str, Any], redirect_uri: str | None = None
) -> sdk.Consent:
    """Request a consent for all scopes of the bank's version with a pushed authorization request."""
    verifier, state = sdk.new_code_verifier(), uuid.uuid4().hex
    scopes: Any = [one.scope for one in tpp.scopes(bank["bic"]).scopes]
    pushed = tpp.push_authorization(
        bic=bank["bic"], scopes=scopes, redirect_uri=redirect_uri, state=state, code_verifier=verifier
    )
    back = approve_consent(browser(stack), tpp.authorization_url(request_uri=pushed.request_uri))
    return tpp.redeem_callback(back, state=state, redirect_uri=redirect_uri, code_verifier=verifier)


def decline(tpp: sdk.Tpp, stack: dict[str, Any], bank: dict[str, Any]) -> tuple[str, str]:
    """Refuse consent on the first page of the bank. Return the redirect address and the state of the request."""
    asked = tpp.authorize(bic=bank["bic"], scopes=["accounts:read"])
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


def order(stack: dict[str, Any], version: int, amount: str = "1.10", reference: str = "SDK") -> sdk.Payment:
    """Return a payment from an account that the PSU chooses, in the currency of the banks of a version."""
    return sdk.Payment(
        creditor=sdk.Creditor(name="Oak Street Books", iban=IBANS[version]),
        amount=sdk.Amount(value=Decimal(amount), currency=CURRENCIES[version]),
        scheme="SCTI" if version == 2 else None,
        remittance=sdk.Remittance(reference=reference),
        callback_url=stack["base_url"] + "/payments/callback",
    )


def bulk_of(single: sdk.Payment, iban: str) -> sdk.BulkPayment:
    """Return a bulk payment of two items that equal ``single``, from an account."""
    item = sdk.Transfer(creditor=single.creditor, amount=single.amount, remittance=single.remittance)
    debtor = sdk.Debtor(iban=iban)
    return sdk.BulkPayment(debtor=debtor, callback_url=single.callback_url, payments=[item, item])


def native_order(stack: dict[str, Any], version: int) -> Any:
    """Return a payment in the format of a version, from an account that the PSU chooses."""
    callback = stack["base_url"] + "/payments/callback"
    if version == 1:
        return sdk.SinglePaymentV1(
            amount=Decimal("1.10"),
            currency="GBP",
            receiver_name="Oak Street Books",
            receiver_iban=IBANS[1],
            reference="SDK",
            callback_url=callback,
        )
    return sdk.SinglePaymentV2(
        creditor_account=sdk.PaymentAccountV2(iban=IBANS[2]),
        creditor_name="Oak Street Books",
        instructed_amount=sdk.InstructedAmountV2(amount=Decimal("1.10"), currency="EUR"),
        remittance_information_unstructured="SDK",
        payment_scheme="SCTI",
        callback_url=callback,
    )


def native_direct_of(
    single: sdk.SinglePaymentV1 | sdk.SinglePaymentV2, bic: str
) -> sdk.DirectPaymentV1 | sdk.DirectPaymentV2:
    """Return a single payment that requires no consent, at a bank."""
    kind = sdk.DirectPaymentV1 if isinstance(single, sdk.SinglePaymentV1) else sdk.DirectPaymentV2
    return kind.from_json({**single.to_json(), "bic": bic})


def native_bulk_of(single: Any, sender_iban: str) -> Any:
    """Return a bulk payment of two items that equal ``single``. Version 1 includes the sender's IBAN."""
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


def native_id(account: sdk.AccountV1 | sdk.AccountReferenceV2) -> str:
    return account.id if isinstance(account, sdk.AccountV1) else account.resource_id


def native_funds_request(account: sdk.AccountV1 | sdk.AccountReferenceV2) -> sdk.FundsRequestV1 | sdk.FundsRequestV2:
    """Build a request for 25.00, in the format of the account's version."""
    amount: dict[str, Any] = {"amount": Decimal("25.00"), "currency": account.currency}
    if isinstance(account, sdk.AccountV1):
        payer = sdk.FundsAccountV1(iban=str(account.iban))
        return sdk.FundsRequestV1(account=payer, instructed_amount=sdk.FundsAmountV1(**amount))
    debtor = sdk.PaymentAccountV2(iban=account.iban)
    return sdk.FundsRequestV2(account=debtor, instructed_amount=sdk.InstructedAmountV2(**amount))
