"""Messages of the sandbox simulator: a card network, an access control server, other banks and the payment provider."""

from collections.abc import Iterator
from typing import Any, ClassVar

from chalicelib.cards.protocol import fields
from chalicelib.cards.protocol.fields import AN, ANS, CountryIson, CurrencyIson, Digits, Flag, Id, N, Range
from chalicelib.cards.protocol.message import Answer, Excludes, Members, Needs, NeedsOne, Request, if_given
from chalicelib.cards.protocol.payment_messages import check_amount
from chalicelib.cards.protocol.values import MOST_AMOUNT
from chalicelib.foundation.fields.problems import Problem


class AtMerchant(Request):
    """The merchant and location of a card's use."""

    mcc: Digits[4] | None = None
    merchant_name: ANS[1, 100] | None = None
    merchant_id: ANS[1, 15] | None = None
    merchant_country_ison: CountryIson | None = None
    terminal_id: ANS[1, 16] | None = None


class SimulateAuthentication(AtMerchant):
    """simulateAuthentication: an online shop requests 3-D Secure authentication."""

    card_id: Id
    amount: N[1, 15]
    currency_ison: CurrencyIson
    acquirer_bin: Digits[4, 11] | None = None


def check_total_amount(members: Members) -> Iterator[Problem]:
    """Check the sum of amount and cashback, which the network sends as one amount."""
    amount, cashback = members.get("amount"), members.get("cashback_amount")
    if isinstance(amount, int) and isinstance(cashback, int) and amount + cashback > MOST_AMOUNT:
        yield Problem("cashback_amount", "length", "must have at most 15 digits when added to amount")


class _CardUse(AtMerchant):
    """A network message about a card's use. Amounts are in minor units of ``currency_ison``."""

    conditions: ClassVar = (NeedsOne(("card_id", "pan")), Excludes("pan", "card_id"))
    further: ClassVar = (check_total_amount,)

    card_id: Id | None = None
    pan: Digits[16, 19] | None = None
    transaction_type: fields.CardTransactionType
    amount: N[1, 15]
    currency_ison: CurrencyIson
    entry_mode_type: fields.EntryModeType | None = None
    cashback_amount: N[1, 15] | None = None
    pin: Digits[4] | None = None
    cvc2: Digits[3] | None = None
    expiry_year: N[4] | None = None
    expiry_month: Range[1, 12] | None = None
    eci_indicator: fields.EciIndicator | None = None
    partial_approval: Flag | None = None


class SimulateAuthorization(_CardUse):
    """simulateAuthorization: the network requests an authorization."""

    force_response_code: fields.ResponseCode | None = None


class SimulateAdvice(_CardUse):
    """simulateAdvice: the network reports its own decision, which is never declined."""

    response_code: fields.ResponseCode


class SimulateIncrement(Request):
    """simulateIncrement: the shop increases the authorized amount."""

    further: ClassVar = (check_amount,)

    trans_link: Digits[12]
    amount: N[1, 15]


class SimulateReversal(Request):
    """simulateReversal: the shop reverses an authorization, or ``amount`` of it."""

    further: ClassVar = (check_amount,)

    trans_link: Digits[12]
    amount: N[1, 15] | None = None


class SimulateExpiry(Request):
    """simulateExpiry: the hold expires."""

    trans_link: Digits[12]


class SimulateClearing(AtMerchant):
    """simulateClearing: the shop collects money, with or without an authorization."""

    conditions: ClassVar = (NeedsOne(("trans_link", "card_id")), Excludes("card_id", "trans_link"))
    further: ClassVar = (check_amount,)

    trans_link: Digits[12] | None = None
    card_id: Id | None = None
    amount: N[1, 15]
    currency_ison: CurrencyIson
    final: Flag | None = None


class SimulateRefund(SimulateClearing):
    """simulateRefund: the shop refunds money."""


class SimulateDispute(Request):
    """simulateDispute: the holder disputes a transaction, or wins or loses the dispute."""

    further: ClassVar = (check_amount,)

    transaction_id: N[1, 11]
    step: fields.DisputeStep
    amount: N[1, 15] | None = None


class Authentication(Answer):
    """The outcome; ``validation_value`` is the cardholder's one-time code."""

    outcome: str
    auth_request_id: Id | None
    validation_value: AN[1, 8] | None
    expires_at: N[1, 11] | None


class Authorization(Answer):
    """The issuer's response. A decline is also a success, with a ``response_code`` other than 00."""

    authorize_id: Id
    trans_link: ANS[1, 36]
    response_code: fields.ResponseCode
    auth_code: AN[6] | None
    approved_amount: int
    holder_amount: int
    holder_currency_ison: CurrencyIson
    fee_amount: int
    risk_actions: list[Any]
    security_checks: list[Any]
    available_balance: int
    settled_balance: int


class Balances(Answer):
    """The account's balances after the action; 0 if the caller cannot see the account."""

    available_balance: int
    settled_balance: int


class Released(Answer):
    """The released amount."""

    authorize_id: Id
    released_amount: int
    available_balance: int
    settled_balance: int


class Cleared(Answer):
    """The transaction, and the amount released from the authorization's hold."""

    transaction_id: Id
    trans_link: ANS[1, 36]
    holder_amount: int
    released_amount: int
    available_balance: int
    settled_balance: int


class Disputed(Answer):
    """The dispute, and the account's balances after the step."""

    dispute_id: Id
    reserved_balance: int
    available_balance: int
    settled_balance: int


class SimulateInboundPayment(Request):
    """simulateInboundPayment: another bank pays to an address."""

    further: ClassVar = (check_amount,)

    epm_address_id: Id
    amount: N[1, 15]
    currency_ison: CurrencyIson
    scheme: fields.Scheme
    sender_name: ANS[1, 70]
    reference: ANS[1, 255] | None = None


class SimulateMandate(Request):
    """simulateMandate: a creditor gets a mandate to collect from an address."""

    epm_address_id: Id
    creditor_name: ANS[1, 70]
    reference: ANS[1, 255]


class SimulateDirectDebit(Request):
    """simulateDirectDebit: a creditor announces a direct debit, or an announced one reaches its cut-off."""

    conditions: ClassVar = (
        NeedsOne(("epm_mandate_id", "epm_transaction_id")),
        Excludes("epm_transaction_id", "epm_mandate_id"),
        Excludes("amount", "epm_transaction_id"),
        Needs(("amount",), (if_given("epm_mandate_id"),)),
    )
    further: ClassVar = (check_amount,)

    epm_mandate_id: Id | None = None
    amount: N[1, 15] | None = None
    epm_transaction_id: Id | None = None


class SimulateOutboundResult(Request):
    """simulateOutboundResult: the provider reports the outcome of a payment out."""

    epm_transaction_id: Id
    result: fields.PaymentResult
    reason: ANS[1, 35] | None = None


class InboundPayment(Answer):
    """The outcome. A bounced payment has a ``reason`` and no ``transaction_id``."""

    epm_transaction_id: Id
    transaction_id: Id | None
    state: fields.PaymentState
    reason: ANS[1, 255] | None
    available_balance: int
    settled_balance: int


class NewMandate(Answer):
    """The new mandate."""

    epm_mandate_id: Id


class Collection(Answer):
    """The direct debit; ``cut_off`` is in Unix seconds, ``reason`` is present if it was rejected."""

    epm_transaction_id: Id
    state: fields.PaymentState
    cut_off: N[1, 11]
    reason: ANS[1, 255] | None
    available_balance: int
    settled_balance: int


class OutboundResult(Answer):
    """The updated payment; ``transaction_id`` is omitted if nothing was booked."""

    state: fields.PaymentState
    transaction_id: Id | None
    available_balance: int
    settled_balance: int
