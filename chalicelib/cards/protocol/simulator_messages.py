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
    """The merchant category code. Example: ``"5411"``."""
    merchant_name: ANS[1, 100] | None = None
    """The merchant's name. Example: ``"Corner Shop"``."""
    merchant_id: ANS[1, 15] | None = None
    """The merchant's id. Example: ``"SHOP0001"``."""
    merchant_country_ison: CountryIson | None = None
    """The merchant's country. Example: ``276``."""
    terminal_id: ANS[1, 16] | None = None
    """The terminal's id. Example: ``"TERM0001"``."""


class SimulateAuthentication(AtMerchant):
    """simulateAuthentication: an online merchant requests 3-D Secure authentication."""

    card_id: Id
    """The card's id. Example: ``100000033``."""
    amount: N[1, 15]
    """The amount, in minor units. Example: ``2599``."""
    currency_ison: CurrencyIson
    """The currency as a numeric ISO 4217 code."""
    acquirer_bin: Digits[4, 11] | None = None
    """The acquirer's BIN. Example: ``"400012"``."""


def check_total_amount(members: Members) -> Iterator[Problem]:
    """The sum of ``amount`` and ``cashback_amount`` must have at most 15 digits (2003)."""
    amount, cashback = members.get("amount"), members.get("cashback_amount")
    if isinstance(amount, int) and isinstance(cashback, int) and amount + cashback > MOST_AMOUNT:
        yield Problem("cashback_amount", "length", "must have at most 15 digits when added to amount")


class _CardUse(AtMerchant):
    """A network message about a card's use. Amounts are in minor units of ``currency_ison``."""

    conditions: ClassVar = (NeedsOne(("card_id", "pan")), Excludes("pan", "card_id"))
    further: ClassVar = (check_total_amount,)

    card_id: Id | None = None
    pan: Digits[16, 19] | None = None
    """The card's number, instead of ``card_id``."""
    transaction_type: fields.CardTransactionType
    """The transaction type, which must be less than 60."""
    amount: N[1, 15]
    """The amount, in minor units, without cashback."""
    currency_ison: CurrencyIson
    entry_mode_type: fields.EntryModeType | None = None
    """The entry mode. Example: ``5``."""
    cashback_amount: N[1, 15] | None = None
    """Cash paid out in addition to the amount, in minor units."""
    pin: Digits[4] | None = None
    """The PIN that the cardholder entered. No example."""
    cvc2: Digits[3] | None = None
    """The CVC2 that the cardholder entered."""
    expiry_year: N[4] | None = None
    """The submitted year of expiry."""
    expiry_month: Range[1, 12] | None = None
    """The submitted month of expiry."""
    eci_indicator: fields.EciIndicator | None = None
    """The electronic commerce indicator (ECI), which describes how the cardholder was authenticated."""
    partial_approval: Flag | None = None
    """Whether a part of the amount may be approved."""


class SimulateAuthorization(_CardUse):
    """simulateAuthorization: the network requests an authorization."""

    force_response_code: fields.ResponseCode | None = None
    """The response code to return without any checks and without counting incorrect PINs."""

    """Inherited ``pin``: Example: ``"4917"``."""


class SimulateAdvice(_CardUse):
    """simulateAdvice: the network reports its own decision, which is never declined."""

    response_code: fields.ResponseCode
    """The network's decision."""


class SimulateIncrement(Request):
    """simulateIncrement: the merchant increases the authorized amount."""

    further: ClassVar = (check_amount,)

    trans_link: Digits[12]
    """The identifier shared by all messages from authorization to clearing. Example: ``"000100000074"``."""
    amount: N[1, 15]
    """The additional amount requested, in minor units of the transaction's currency. Example: ``500``."""


class SimulateReversal(Request):
    """simulateReversal: the merchant reverses an authorization in full, or reverses only ``amount``."""

    further: ClassVar = (check_amount,)

    trans_link: Digits[12]
    amount: N[1, 15] | None = None
    """The amount to reverse, in minor units of the transaction's currency, by default the whole remainder.
    No example.
    """


class SimulateExpiry(Request):
    """simulateExpiry: the hold of an authorization expires."""

    trans_link: Digits[12]


class SimulateClearing(AtMerchant):
    """simulateClearing: the merchant collects money, with or without an authorization."""

    conditions: ClassVar = (NeedsOne(("trans_link", "card_id")), Excludes("card_id", "trans_link"))
    further: ClassVar = (check_amount,)

    trans_link: Digits[12] | None = None
    """The ``trans_link`` of the authorization to clear."""
    card_id: Id | None = None
    """The card's id, instead of ``trans_link``, if there was no authorization. No example."""
    amount: N[1, 15]
    """The amount to clear, in minor units. Example: ``2599``."""
    currency_ison: CurrencyIson
    """The currency of the amount."""
    final: Flag | None = None
    """Whether this is the last clearing, which releases the remainder. The default is 1."""


class SimulateRefund(SimulateClearing):
    """simulateRefund: the merchant refunds money."""

    """Inherited ``amount``: The amount refunded, in minor units. Example: ``500``."""
    """Inherited ``final``: Accepted, without effect."""


class SimulateDispute(Request):
    """simulateDispute: the holder disputes a transaction, or wins or loses the dispute."""

    further: ClassVar = (check_amount,)

    transaction_id: N[1, 11]
    """The id of the cleared transaction. Example: ``100000116``."""
    step: fields.DisputeStep
    """The step of the dispute."""
    amount: N[1, 15] | None = None
    """The disputed amount, in minor units of the account's currency, by default the whole transaction.
    No example.
    """


class Authentication(Answer):
    """The outcome of the authentication. ``validation_value`` is the cardholder's one-time code."""

    outcome: str
    """The outcome of the authentication. Example: ``"challenge"``."""
    auth_request_id: Id | None
    """The 3-D Secure request's id. Example: ``100000066``."""
    validation_value: AN[1, 8] | None
    """The value sent to the cardholder. Example: ``"730214"``."""
    expires_at: N[1, 11] | None
    """The time when the request expires, in Unix seconds. Example: ``1795253700``."""


class Authorization(Answer):
    """The issuer's response. A decline is also a success, with a ``response_code`` other than 00."""

    authorize_id: Id
    """The network message's id. Example: ``100000074``."""
    trans_link: ANS[1, 36]
    """The identifier shared by all messages from authorization to clearing."""
    response_code: fields.ResponseCode
    """The issuer's response code."""
    auth_code: AN[6] | None
    """The approval code. Example: ``"471082"``."""
    approved_amount: int
    """The approved amount, in minor units of the transaction's currency. Example: ``2599``."""
    holder_amount: int
    """The amount charged, in minor units of the account's currency, including fees that are not separate transactions.
    Example: ``2599``.
    """
    holder_currency_ison: CurrencyIson
    """The account's currency. Example: ``978``."""
    fee_amount: int
    """The fees, in minor units of the account's currency, without the conversion fee. Example: ``0``."""
    risk_actions: list[Any]
    """The actions triggered by risk rules, as a single object of flags. Example: ``RISK_ACTIONS``."""
    security_checks: list[Any]
    """The security data present in the message, as a single object of flags. Example: ``SECURITY_CHECKS``."""
    available_balance: int
    """The available balance, in minor units. Example: ``125000``."""
    settled_balance: int
    """The booked balance, in minor units. Example: ``131500``."""


class Balances(Answer):
    """The account's balances after the action. The balances are 0 if the caller cannot see the account."""

    available_balance: int
    settled_balance: int


class Released(Answer):
    """The released amount."""

    authorize_id: Id
    released_amount: int
    """The amount released from hold, in minor units of the account's currency. Example: ``2599``."""
    available_balance: int
    settled_balance: int


class Cleared(Answer):
    """The transaction, and the amount released from the authorization's hold."""

    transaction_id: Id
    """The transaction's id."""
    trans_link: ANS[1, 36]
    """The identifier shared by all messages from authorization to clearing."""
    holder_amount: int
    released_amount: int
    available_balance: int
    settled_balance: int


class Disputed(Answer):
    """The dispute, and the account's balances after the step."""

    dispute_id: Id
    """The dispute's id. Example: ``100000132``."""
    reserved_balance: int
    """Funds reserved until a dispute is resolved, in minor units. Example: ``0``."""
    available_balance: int
    settled_balance: int


class SimulateInboundPayment(Request):
    """simulateInboundPayment: another bank pays to an address."""

    further: ClassVar = (check_amount,)

    epm_address_id: Id
    """The external payment address's id. Example: ``100000082``."""
    amount: N[1, 15]
    """Example: ``125000``."""
    currency_ison: CurrencyIson
    """The currency, which must be the address's currency."""
    scheme: fields.Scheme
    """The payment scheme, in upper or lower case. Example: ``"SCT"``."""
    sender_name: ANS[1, 70]
    """The payer's name. Example: ``"Meadow Ltd"``."""
    reference: ANS[1, 255] | None = None
    """The reference for the holder. Example: ``"Salary"``."""


class SimulateMandate(Request):
    """simulateMandate: a creditor gets a mandate to collect from an address."""

    epm_address_id: Id
    creditor_name: ANS[1, 70]
    """The creditor's name. Example: ``"Riverside Gym"``."""
    reference: ANS[1, 255]
    """The creditor's reference. Example: ``"MEMBER-1042"``."""


class SimulateDirectDebit(Request):
    """simulateDirectDebit: a creditor announces a direct debit, or an announced direct debit reaches its cut-off."""

    conditions: ClassVar = (
        NeedsOne(("epm_mandate_id", "epm_transaction_id")),
        Excludes("epm_transaction_id", "epm_mandate_id"),
        Excludes("amount", "epm_transaction_id"),
        Needs(("amount",), (if_given("epm_mandate_id"),)),
    )
    further: ClassVar = (check_amount,)

    epm_mandate_id: Id | None = None
    """The id of the mandate under which a creditor announces a direct debit. Example: ``100000108``."""
    amount: N[1, 15] | None = None
    epm_transaction_id: Id | None = None
    """The id of an announced direct debit. The cut-off is changed to the current time. No example."""


class SimulateOutboundResult(Request):
    """simulateOutboundResult: the provider reports the outcome of an outbound payment."""

    epm_transaction_id: Id
    """The external payment's id. Example: ``100000090``."""
    result: fields.PaymentResult
    """The result reported by the provider."""
    reason: ANS[1, 35] | None = None
    """The reason, which is stored with the payment."""


class InboundPayment(Answer):
    """The outcome of the inbound payment. A bounced payment has a ``reason`` and no ``transaction_id``."""

    epm_transaction_id: Id
    """The external payment's id. Example: ``100000090``."""
    transaction_id: Id | None
    """The id of the account's transaction, absent if the payment was bounced."""
    state: fields.PaymentState
    """The payment's state, which is S, or J if the payment was bounced. Example: ``"S"``."""
    reason: ANS[1, 255] | None
    """The reason for the bounce."""
    available_balance: int
    settled_balance: int


class NewMandate(Answer):
    """The new mandate."""

    epm_mandate_id: Id
    """The mandate's id."""


class Collection(Answer):
    """The direct debit. ``cut_off`` is in Unix seconds. ``reason`` is present if the direct debit was rejected."""

    epm_transaction_id: Id
    """The external payment's id. Example: ``100000090``."""
    state: fields.PaymentState
    """The direct debit's state. Example: ``"P"``."""
    cut_off: N[1, 11]
    """The time when the direct debit is paid or rejected, in Unix seconds. Example: ``1795339800``."""
    reason: ANS[1, 255] | None
    """The reason for non-payment."""
    available_balance: int
    settled_balance: int


class OutboundResult(Answer):
    """The updated payment. ``transaction_id`` is omitted if no transaction was booked."""

    state: fields.PaymentState
    """The payment's state."""
    transaction_id: Id | None
    """The id of the transaction of the payment or of the return, absent if the payment was rejected."""
    available_balance: int
    settled_balance: int
