"""The sandbox's simulator of external payments: what other banks and the provider would do."""

from __future__ import annotations

from typing import ClassVar

from chalicelib.cards.protocol.enumerations import PaymentResult, PaymentState, Scheme
from chalicelib.cards.protocol.fields import ANS, CurrencyIson, Id, N
from chalicelib.cards.protocol.message import Answer, Excludes, Needs, NeedsOne, Request, given
from chalicelib.cards.protocol.payment_messages import some_amount


class SimulateInboundPayment(Request):
    """simulateInboundPayment: another bank pays to an address."""

    further: ClassVar = (some_amount,)

    epm_address_id: Id
    amount: N[1, 15]
    currency_ison: CurrencyIson
    scheme: Scheme
    sender_name: ANS[1, 70]
    reference: ANS[1, 255] | None = None


class SimulateMandate(Request):
    """simulateMandate: a creditor may collect from an address."""

    epm_address_id: Id
    creditor_name: ANS[1, 70]
    reference: ANS[1, 255]


class SimulateDirectDebit(Request):
    """simulateDirectDebit: a creditor announces a collection, or the cut-off of one that was announced passes."""

    conditions: ClassVar = (
        NeedsOne(("epm_mandate_id", "epm_transaction_id")),
        Excludes("epm_transaction_id", "epm_mandate_id"),
        Excludes("amount", "epm_transaction_id"),
        Needs(("amount",), (given("epm_mandate_id"),)),
    )
    further: ClassVar = (some_amount,)

    epm_mandate_id: Id | None = None
    amount: N[1, 15] | None = None
    epm_transaction_id: Id | None = None


class SimulateOutboundResult(Request):
    """simulateOutboundResult: the provider reports what became of a payment out."""

    epm_transaction_id: Id
    result: PaymentResult
    reason: ANS[1, 35] | None = None


class InboundPayment(Answer):
    """What came of it; when it was bounced, ``reason`` in the place of ``transaction_id``."""

    epm_transaction_id: Id
    transaction_id: Id | None
    state: PaymentState
    reason: ANS[1, 255] | None
    available_balance: int
    settled_balance: int


class NewMandate(Answer):
    """The mandate."""

    epm_mandate_id: Id


class Collection(Answer):
    """The direct debit; ``cut_off`` in Unix seconds, ``reason`` when it was rejected."""

    epm_transaction_id: Id
    state: PaymentState
    cut_off: N[1, 11]
    reason: ANS[1, 255] | None
    available_balance: int
    settled_balance: int


class OutboundResult(Answer):
    """The payment afterwards; ``transaction_id`` is left out when nothing was booked."""

    state: PaymentState
    transaction_id: Id | None
    available_balance: int
    settled_balance: int
