"""The webhooks that initiate a payment, with checks that only the bank can perform, and return a payment's status."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from chalicelib.demo_bank import consents, execution, faults, orders, refusals
from chalicelib.demo_bank.customers import CustomerAccount
from chalicelib.demo_bank.directory import all_accounts
from chalicelib.demo_bank.format import PaymentStep
from chalicelib.demo_bank.instructions import AccountIdentifiers, PaymentInstruction, PaymentLine, UnpayableAmount
from chalicelib.demo_bank.orders import Credit, DemoPaymentOrder
from chalicelib.demo_bank.runtime import TOO_LONG_SECONDS, DemoBank
from chalicelib.demo_bank.webhook_format import WebhookCall
from chalicelib.foundation import log
from chalicelib.foundation.dynamodb.store import ConditionFailed
from chalicelib.openbanking.protocol.errors import Fault, Refusal
from chalicelib.openbanking.protocol.payment_enumerations import Kind


def initiate_payment(call: WebhookCall, kind: Kind) -> dict[str, Any]:
    """Accept a payment and return its confirmation page. A duplicate request returns the same payment.

    Raises:
        Refusal: no payment was created.
    """
    bank = call.bank
    order_id = orders.derive_payment_id(bank, kind, call.consent.record if call.consent else "", call.request_id)
    order = orders.find(bank, order_id)
    if order is None:
        order = _create_order(call, kind, order_id)
    if order.content != call.content:
        raise refusals.REQUEST_ID_USED()
    if order.test == "TEST-TIMEOUT":
        bank.pause(TOO_LONG_SECONDS)
    if order.test == "TEST-MALFORMED":
        return {"payment": {"id": [order.payment_id]}}
    return call.format.payment_answer(
        order, f"{bank.domain}/payment/{orders.confirmation_secret(bank, order.payment_id)}"
    )


def get_payment_status(call: WebhookCall, kinds: Collection[Kind]) -> dict[str, Any]:
    """Return the status of a payment with this consent, or of a direct payment. Raises: Refusal."""
    order = orders.find(call.bank, call.request.payment_id)
    if order is None or order.kind not in kinds:
        raise refusals.PAYMENT_UNKNOWN()
    if call.consent is None and order.consent:
        raise refusals.TOKEN_MISSING()
    if call.consent is not None and call.consent.record != order.consent:
        raise refusals.PAYMENT_UNKNOWN()
    return {call.bank.profile.protocol.status_member: execution.refresh(call.bank, order).status}


def _create_order(call: WebhookCall, kind: Kind, order_id: str) -> DemoPaymentOrder:
    """Create an order, or return the order of a concurrent duplicate request. Raises: Refusal."""
    bank, consent = call.bank, call.consent
    if consent is not None and consent.payment_id not in ("", order_id):
        raise _spent_token_refusal(bank)
    instruction = _read_instruction(call, kind)
    account = _debtor_account(call, instruction)
    if account is not None:
        if any(line.account.matches(account) for line in instruction.lines):
            raise refusals.ONE_ACCOUNT_TWICE()
        # without a consent, nobody may learn the balance of an account
        if consent is not None and execution.current_statement(bank, account).available < instruction.amount:
            raise refusals.INSUFFICIENT_FUNDS()
    test = faults.payment_reference(instruction.test, consent.customer_id if consent else "")
    if test == "TEST-NO-FUNDS":
        raise refusals.INSUFFICIENT_FUNDS()
    if test == "TEST-REFUSED":
        raise refusals.PAYMENT_REFUSED()
    order = _build_order(call, order_id, instruction, account)
    spending = [consents.update_payment(bank, consent, order_id)] if consent is not None and consent.is_one_time else []
    try:
        bank.store.transact([*orders.put_order(bank, order, instruction), *spending])
    except ConditionFailed as failure:
        known = orders.find(bank, order_id) if 0 in failure.failed else None
        if known is None:
            raise _spent_token_refusal(bank) from None
        return known
    log.info("demo bank: payment", bank=bank.profile.name, state=order.state, kind=kind)
    return order


def _read_instruction(call: WebhookCall, kind: Kind) -> PaymentInstruction:
    try:
        return call.format.instruction_readers[kind](call.bank.profile, kind, call.request)
    except UnpayableAmount as error:
        raise Refusal(Fault.CONTENT, str(error)) from None


def _debtor_account(call: WebhookCall, instruction: PaymentInstruction) -> CustomerAccount | None:
    """Return the debtor account of a request, or ``None`` if the customer chooses it. Raises: Refusal."""
    bank = call.bank
    allowed = call.accounts_to_pay_from if call.consent else all_accounts(bank)
    if instruction.debtor is None:
        if not any(can_pay(account, instruction.currency) for account in allowed):
            raise refusals.NO_ACCOUNT_IN_CURRENCY()
        return None
    named = [account for account in allowed if instruction.debtor.matches(account)]
    if not named:
        raise refusals.ACCOUNT_UNKNOWN()
    account = next((account for account in named if account.currency == instruction.currency), None)
    if account is None:
        raise refusals.CURRENCY_OF_ANOTHER_ACCOUNT()
    if not can_pay(account, instruction.currency):
        raise refusals.ACCOUNT_CANNOT_PAY()
    return account


def can_pay(account: CustomerAccount, currency: str) -> bool:
    """Whether an account can make payments in a currency. Card accounts and closed accounts cannot."""
    return account.currency == currency and account.kind != "card" and not account.is_closed


def _build_order(
    call: WebhookCall, order_id: str, instruction: PaymentInstruction, account: CustomerAccount | None
) -> DemoPaymentOrder:
    bank, consent = call.bank, call.consent
    within = _credits(bank, instruction)
    first, count = instruction.lines[0], len(instruction.lines)
    step: PaymentStep = "checked" if account else "received"
    return DemoPaymentOrder(
        payment_id=order_id,
        kind=instruction.kind,
        content=call.content,
        consent=consent.record if consent else "",
        tpp_name=consent.tpp_name if consent else "",
        customer_id=consent.customer_id if consent else "",
        account_id=account.account_id if account else "",
        is_fixed=account is not None,
        currency=instruction.currency,
        amount=instruction.amount,
        count=count,
        receiver=f"{count} receivers" if count > 1 else first.name or first.account.label,
        receiver_account=first.account if count == 1 else AccountIdentifiers(),
        text=first.text if count == 1 else "Bulk payment",
        is_instant=instruction.is_instant,
        is_within=sum(credit.count for credit in within) == count,
        test=instruction.test,
        credits=tuple(within),
        state="open",
        status=bank.format.statuses[step],
        created_at=bank.clock.time(),
        callback_url=instruction.callback_url,
    )


def _credits(bank: DemoBank, instruction: PaymentInstruction) -> list[Credit]:
    """Return the amounts of an instruction that are credited to accounts of this bank.

    Accounts in other currencies are treated as accounts at other banks.
    """
    found: dict[str, Credit] = {}
    known = _accounts_by_identifier(all_accounts(bank))
    for line in instruction.lines:
        account = _creditor_account(known, line, instruction.currency)
        if account is not None:
            before = found.get(account.account_id, Credit(account.account_id, 0, 0))
            found[account.account_id] = Credit(account.account_id, before.amount + line.amount, before.count + 1)
    return list(found.values())


def _accounts_by_identifier(accounts: Iterable[CustomerAccount]) -> Mapping[str, list[CustomerAccount]]:
    """Map IBANs, BBANs and numbers to accounts.

    The mapping is needed because a bulk has up to 1,000 payments and a bank has many accounts.
    """
    found: dict[str, list[CustomerAccount]] = defaultdict(list)
    for account in accounts:
        for identifier in filter(None, (account.iban, account.bban, account.number)):
            found[identifier].append(account)
    return found


def _creditor_account(
    known: Mapping[str, list[CustomerAccount]], line: PaymentLine, currency: str
) -> CustomerAccount | None:
    named = line.account.iban or line.account.bban or line.account.number
    matching = (account for account in known.get(named, ()) if line.account.matches(account))
    return next((account for account in matching if can_pay(account, currency)), None)


def _spent_token_refusal(bank: DemoBank) -> Refusal:
    return refusals.refuse_token(refusals.TOKEN_SPENT, bank.format.token_fault)
