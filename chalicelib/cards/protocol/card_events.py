"""Card events, sent to a programme manager's Events URL (Standard Webhooks).

An event has a ``type``, a ``timestamp`` (the time of the event) and ``data``. ``EVENTS`` maps each type to its data
model and trigger. The models are used only in documentation and tests. Events contain no card data, not even masked
data. Receivers can read the records by their ids. The 3-D Secure validation value is only sent encrypted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from chalicelib.cards.protocol import fields
from chalicelib.cards.protocol.fields import AN, ANS, CountryIson, CurrencyIson, Digits, Flag, Id, N
from chalicelib.cards.protocol.message import Answer
from chalicelib.foundation.lazy_dataclasses import dataclass

CardEventType = Literal[
    "card.created",
    "card.activated",
    "card.status_changed",
    "card.authorization",
    "card.clearing",
    "account.status_changed",
    "account.program_changed",
    "external_payment",
    "mandate",
    "three_d_secure.requested",
]


class CardCreatedEvent(Answer):
    """A card was created or reissued. A reissued card keeps its ``card_id`` and gets a new ``card_request_id``."""

    card_id: Id
    """The card's id. Example: ``100000033``."""
    card_request_id: Id
    """The id of the card's latest order, which changes with each reissue. Example: ``100000041``."""
    holder_id: Id
    """The holder's id. Example: ``100000017``."""
    account_id: Id
    """The id of the card's primary account. Example: ``100000025``."""
    virtual: fields.KindOfCard
    """Whether the card is virtual. Example: ``1``."""
    reissued: Flag
    """Whether the card was reissued with reissueCard."""
    card_status: fields.CardStatus
    """The card's status before activation. Example: ``"N"``."""


class CardActivatedEvent(Answer):
    """A card was activated."""

    card_id: Id
    card_request_id: Id
    holder_id: Id
    card_status: fields.CardStatus
    """The card's status. Example: ``"A"``."""


class CardStatusEvent(Answer):
    """A card's status changed."""

    card_id: Id
    holder_id: Id
    card_status_before: fields.CardStatus
    """The previous status. Example: ``"A"``."""
    card_status: fields.CardStatus
    """The new status. Example: ``"L"``."""
    reason_code: fields.ReasonCode | None
    """The reason for the status change, if specified. Example: ``4``."""


class CardAuthorizationEvent(Answer):
    """The network sent a message about a card's use, or a hold expired. If the message is declined, the event contains
    the requested amounts.
    """

    authorize_id: Id
    """The network message's id. Example: ``100000074``."""
    authorize_type: fields.AuthorizeType
    """The type of the network message."""
    trans_link: ANS[1, 36]
    """The identifier shared by all messages from authorization to clearing. Example: ``"000100000074"``."""
    card_id: Id
    account_id: Id | None
    """The account's id, absent if no account was found."""
    response_code: fields.ResponseCode
    """The issuer's response code."""
    transaction_type: fields.CardTransactionType
    """The transaction type."""
    transaction_amount: int
    """The amount in the merchant's currency, in minor units. Example: ``2599``."""
    transaction_currency_ison: CurrencyIson
    """The currency of ``transaction_amount``. Example: ``978``."""
    holder_amount: int
    """The amount charged, in minor units of the account's currency, including fees that are not separate transactions.
    Example: ``2599``.
    """
    holder_currency_ison: CurrencyIson
    """The account's currency. Example: ``978``."""
    mcc: Digits[4] | None
    """The merchant category code. Example: ``"5411"``."""
    merchant_name: ANS[1, 100] | None
    """The merchant's name. Example: ``"Corner Shop"``."""
    suspicious: Flag
    """Whether a risk rule marked the transaction as suspicious."""
    notify_cardholder: Flag
    """Whether a risk rule requests a notification of the cardholder."""
    available_balance: int
    """The available balance, in minor units. Example: ``125000``."""
    settled_balance: int
    """The booked balance, in minor units. Example: ``131500``."""


class CardClearingEvent(Answer):
    """A clearing or refund was booked."""

    transaction_id: Id
    """The id of the account's transaction. Example: ``100000116``."""
    trans_link: ANS[1, 36]
    card_id: Id
    account_id: Id
    """The account's id."""
    transaction_type: fields.CardTransactionType
    transaction_amount: int
    transaction_currency_ison: CurrencyIson
    holder_amount: int
    holder_currency_ison: CurrencyIson
    released_amount: int
    """The amount released from hold, in minor units of the account's currency. Example: ``2599``."""
    available_balance: int
    settled_balance: int


class AccountStatusEvent(Answer):
    """An account's status changed."""

    account_id: Id
    """The account's id."""
    holder_id: Id
    account_status_before: fields.AccountStatus
    """The previous status."""
    account_status: fields.AccountStatus
    """The new status. Example: ``"S"``."""
    reason_code: fields.ReasonCode | None
    """The reason for the status change, if specified. The reason is 11 if a risk rule changed the status.
    Example: ``11``.
    """


class ReplacedGroup(Answer):
    """A group that the new programme does not allow, and the group that replaces it."""

    group: fields.AccountGroup
    """The name of the group's member in the account record. Example: ``"fee_group_id"``."""
    id_before: Id | None
    """The previous group's id, absent if the account had no such group. Example: ``302``."""
    id: Id
    """The new group's id. Example: ``303``."""


class AccountProgramEvent(Answer):
    """An account was moved to another programme. The account keeps the groups that the new programme allows."""

    account_id: Id
    """The account's id."""
    holder_id: Id
    program_id_before: Id
    """The previous programme's id. Example: ``501``."""
    program_id: Id
    """The new programme's id. Example: ``502``."""
    replaced_groups: list[ReplacedGroup]
    """The replaced groups. The list is empty if no group was replaced.
    Example: ``[{"group": "fee_group_id", "id_before": 302, "id": 303}]``.
    """


class ExternalPaymentEvent(Answer):
    """The current state of a payment, direct debit or return."""

    epm_transaction_id: Id
    """The external payment's id. Example: ``100000090``."""
    kind: fields.KindOfPayment
    """The kind of payment."""
    state: fields.PaymentState
    """The new state. Example: ``"S"``."""
    reason: ANS[1, 255] | None
    """The reason for a rejection or return."""
    epm_address_id: Id
    """The external payment address's id. Example: ``100000082``."""
    account_id: Id
    """The id of the account, which is a holder's account or a special account."""
    account_type: fields.AccountType
    """The type of account."""
    card_id: Id | None
    """The id of the address's card, if the address has a card. No example."""
    holder_id: Id | None
    """The holder's id, absent for a special account."""
    instructed_amount: int
    """The amount transferred, in minor units. Example: ``2599``."""
    instructed_currency: CurrencyIson
    """The currency of the transfer, which is the address's currency. Example: ``978``."""
    settlement_amount: int | None
    """The amount in the account's currency, in minor units. The member is absent until the amount is known.
    Example: ``2599``.
    """
    settlement_currency: CurrencyIson | None
    """The account's currency. Example: ``978``."""
    description: ANS[1, 255] | None
    """The remittance information, which is the reference of an inbound payment or direct debit, or the description of
    an outbound payment.
    Example: ``"Invoice 2041"``.
    """
    counterparty_name: ANS[1, 101] | None
    """The name of the payer, payee or creditor. Example: ``"Meadow Ltd"``."""
    counterparty_iban: AN[15, 34] | None
    """The counterparty's IBAN, if known."""
    counterparty_sort_code: AN[6] | None
    """The counterparty's sort code, if known."""
    counterparty_account_number: AN[1, 26] | None
    """The counterparty's account number, if known."""
    scheme: fields.Scheme | None
    """The payment scheme, absent for a direct debit. Example: ``"SCT"``."""
    transaction_id: Id | None
    """The id of the account's transaction, absent until the transaction is booked."""
    return_transaction_id: Id | None
    """The id of the transaction that credits a returned outbound payment."""
    trans_link: ANS[1, 36] | None
    """The identifier that links the payment's transactions and the transactions of its return.
    Example: ``"E00100000090"``.
    """
    returned_epm_transaction_id: Id | None
    """For a return, the id of the returned payment."""
    epm_mandate_id: Id | None
    """For a direct debit, the mandate's id. No example."""
    cut_off: N[1, 11] | None
    """For a direct debit, the time of the payment or rejection, in Unix seconds."""
    created_at: Digits[1, 11]
    """The time when the payment was requested, in Unix seconds, as a string of digits.
    Example: ``"1795253400"``.
    """


class MandateEvent(Answer):
    """A mandate for an address was created or cancelled."""

    epm_mandate_id: Id
    """The mandate's id. Example: ``100000108``."""
    state: fields.MandateState
    """The new state. Example: ``"A"``."""
    epm_address_id: Id
    creditor_name: ANS[1, 70]
    """The creditor's name. Example: ``"Riverside Gym"``."""
    reference: ANS[1, 255]
    """The creditor's reference. Example: ``"MEMBER-1042"``."""


class ThreeDSecureEvent(Answer):
    """An online merchant waits for the cardholder's response, which is submitted with authenticationConfirm."""

    auth_request_id: Id
    """The id of the request to confirm with authenticationConfirm. Example: ``100000066``."""
    card_id: Id
    amount: int
    """The amount, in minor units. Example: ``2599``."""
    currency_ison: CurrencyIson
    """The currency as a numeric ISO 4217 code. Example: ``978``."""
    acquirer_bin: Digits[4, 11] | None
    """The acquirer's BIN. Example: ``"400012"``."""
    mcc: Digits[4] | None
    merchant_name: ANS[1, 100] | None
    merchant_id: ANS[1, 15] | None
    """The merchant's id. Example: ``"SHOP0001"``."""
    merchant_country_ison: CountryIson | None
    """The merchant's country. Example: ``276``."""
    terminal_id: ANS[1, 16] | None
    """The terminal's id. Example: ``"TERM0001"``."""
    expires_at: N[1, 11]
    """The time when the request expires, in Unix seconds. Example: ``1795253700``."""
    validation_value: str | None
    """The encrypted value to send to the cardholder, present only if the operator has configured you to send this
    value.
    """


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event type's data model and trigger."""

    data: type[Answer]
    meaning: str


EVENTS: Mapping[CardEventType, EventRow] = {
    "card.created": EventRow(CardCreatedEvent, "A card was created by createCard or reissued by reissueCard."),
    "card.activated": EventRow(CardActivatedEvent, "A card was activated."),
    "card.status_changed": EventRow(
        CardStatusEvent, "A card's status changed, whatever the cause; expiry sends no event."
    ),
    "card.authorization": EventRow(
        CardAuthorizationEvent, "An authorization was approved, declined, incremented or reversed, or its hold expired."
    ),
    "card.clearing": EventRow(CardClearingEvent, "A clearing or refund was booked."),
    "account.status_changed": EventRow(AccountStatusEvent, "An account's status changed, whatever the cause."),
    "account.program_changed": EventRow(
        AccountProgramEvent, "An account was moved to another programme; groups not allowed there were replaced."
    ),
    "external_payment": EventRow(ExternalPaymentEvent, "The state of a payment, direct debit or return changed."),
    "mandate": EventRow(MandateEvent, "A mandate was created or cancelled."),
    "three_d_secure.requested": EventRow(
        ThreeDSecureEvent, "An online shop requests confirmation from the cardholder."
    ),
}
