"""Card events, sent to a programme manager's Events URL (Standard Webhooks).

An event has a ``type``, a ``timestamp`` (when it happened) and ``data``. ``EVENTS`` maps each type to its data model
and trigger. The models serve documentation and tests only. Events contain no card data, not even masked: read the
records by their ids. The 3-D Secure validation value is only sent encrypted.
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
    """A card was created or reissued. A reissue keeps the ``card_id`` and gets a new ``card_request_id``."""

    card_id: Id
    """The card. Example: ``100000033``."""
    card_request_id: Id
    """The card's latest order; changes with each reissue. Example: ``100000041``."""
    holder_id: Id
    """The holder. Example: ``100000017``."""
    account_id: Id
    """The card's primary account. Example: ``100000025``."""
    virtual: fields.KindOfCard
    """Whether the card is virtual. Example: ``1``."""
    reissued: Flag
    """Whether the card was reissued with reissueCard."""
    card_status: fields.CardStatus
    """The card's status, before activation. Example: ``"N"``."""


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
    """The reason, if specified. Example: ``4``."""


class CardAuthorizationEvent(Answer):
    """The network sent a message about a card's use, or a hold expired. A decline has the requested amounts."""

    authorize_id: Id
    """The message. Example: ``100000074``."""
    authorize_type: fields.AuthorizeType
    """The type of message."""
    trans_link: ANS[1, 36]
    """Links all messages of a transaction, from authorization to clearing. Example: ``"000100000074"``."""
    card_id: Id
    account_id: Id | None
    """The account; absent if none was found."""
    response_code: fields.ResponseCode
    """The issuer's response."""
    transaction_type: fields.CardTransactionType
    """The transaction type."""
    transaction_amount: int
    """The amount at the merchant, in minor units. Example: ``2599``."""
    transaction_currency_ison: CurrencyIson
    """The currency of ``transaction_amount``. Example: ``978``."""
    holder_amount: int
    """The amount charged, in minor units of the account's currency, including blended fees. Example: ``2599``."""
    holder_currency_ison: CurrencyIson
    """The account's currency. Example: ``978``."""
    mcc: Digits[4] | None
    """The merchant category code. Example: ``"5411"``."""
    merchant_name: ANS[1, 100] | None
    """The merchant's name. Example: ``"Corner Shop"``."""
    suspicious: Flag
    """Whether a risk rule marked the transaction as suspicious."""
    notify_cardholder: Flag
    """Whether a risk rule requests that the cardholder be notified."""
    available_balance: int
    """The available balance, in minor units. Example: ``125000``."""
    settled_balance: int
    """The booked balance, in minor units. Example: ``131500``."""


class CardClearingEvent(Answer):
    """A clearing or refund was booked."""

    transaction_id: Id
    """The account's transaction. Example: ``100000116``."""
    trans_link: ANS[1, 36]
    card_id: Id
    account_id: Id
    """The account."""
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
    """The account."""
    holder_id: Id
    account_status_before: fields.AccountStatus
    """The previous status."""
    account_status: fields.AccountStatus
    """The new status. Example: ``"S"``."""
    reason_code: fields.ReasonCode | None
    """The reason, if specified; 11 for a risk rule. Example: ``11``."""


class ReplacedGroup(Answer):
    """A group that the new programme does not allow, and its replacement."""

    group: fields.AccountGroup
    """The group, under its name in the account record. Example: ``"fee_group_id"``."""
    id_before: Id | None
    """The previous group; absent if there was none. Example: ``302``."""
    id: Id
    """The new group. Example: ``303``."""


class AccountProgramEvent(Answer):
    """An account moved to another programme. It keeps the groups that the new programme allows."""

    account_id: Id
    """The account."""
    holder_id: Id
    program_id_before: Id
    """The previous programme. Example: ``501``."""
    program_id: Id
    """The new programme. Example: ``502``."""
    replaced_groups: list[ReplacedGroup]
    """The replaced groups; empty if all were kept.
    Example: ``[{"group": "fee_group_id", "id_before": 302, "id": 303}]``.
    """


class ExternalPaymentEvent(Answer):
    """The current state of a payment, direct debit or return."""

    epm_transaction_id: Id
    """The external payment. Example: ``100000090``."""
    kind: fields.KindOfPayment
    """The kind of payment."""
    state: fields.PaymentState
    """The new state. Example: ``"S"``."""
    reason: ANS[1, 255] | None
    """The reason for a rejection or return."""
    epm_address_id: Id
    """The external payment address. Example: ``100000082``."""
    account_id: Id
    """The account: a holder's or a special one."""
    account_type: fields.AccountType
    """The type of account."""
    card_id: Id | None
    """The card of the address, if it has one. No example."""
    holder_id: Id | None
    """The holder; absent for a special account."""
    instructed_amount: int
    """The amount transferred, in minor units. Example: ``2599``."""
    instructed_currency: CurrencyIson
    """The currency of the transfer: the address's. Example: ``978``."""
    settlement_amount: int | None
    """The amount in the account's currency, in minor units; absent until known. Example: ``2599``."""
    settlement_currency: CurrencyIson | None
    """The account's currency. Example: ``978``."""
    description: ANS[1, 255] | None
    """The remittance information: the reference of a payment in or a collection, the description of a payment out.
    Example: ``"Invoice 2041"``.
    """
    counterparty_name: ANS[1, 101] | None
    """The payer, payee or creditor. Example: ``"Meadow Ltd"``."""
    counterparty_iban: AN[15, 34] | None
    """The counterparty's IBAN, if known."""
    counterparty_sort_code: AN[6] | None
    """The counterparty's sort code, if known."""
    counterparty_account_number: AN[1, 26] | None
    """The counterparty's account number, if known."""
    scheme: fields.Scheme | None
    """The payment scheme; absent for a direct debit. Example: ``"SCT"``."""
    transaction_id: Id | None
    """The account's transaction, once it is booked."""
    return_transaction_id: Id | None
    """The transaction that credits a returned outbound payment."""
    trans_link: ANS[1, 36] | None
    """Links the payment's transactions and those of its return. Example: ``"E00100000090"``."""
    returned_epm_transaction_id: Id | None
    """For a return: the returned payment."""
    epm_mandate_id: Id | None
    """For a direct debit: the mandate. No example."""
    cut_off: N[1, 11] | None
    """For a direct debit: when it is paid or rejected, in Unix seconds."""
    created_at: Digits[1, 11]
    """When the payment was requested: Unix seconds as a string of digits. Example: ``"1795253400"``."""


class MandateEvent(Answer):
    """A mandate for an address was created or cancelled."""

    epm_mandate_id: Id
    """The mandate. Example: ``100000108``."""
    state: fields.MandateState
    """The new state. Example: ``"A"``."""
    epm_address_id: Id
    creditor_name: ANS[1, 70]
    """The creditor's name. Example: ``"Riverside Gym"``."""
    reference: ANS[1, 255]
    """The creditor's reference. Example: ``"MEMBER-1042"``."""


class ThreeDSecureEvent(Answer):
    """An online shop is waiting for the cardholder's answer, to be submitted with authenticationConfirm."""

    auth_request_id: Id
    """The request to answer with authenticationConfirm. Example: ``100000066``."""
    card_id: Id
    amount: int
    """The amount, in minor units. Example: ``2599``."""
    currency_ison: CurrencyIson
    """The currency. Example: ``978``."""
    acquirer_bin: Digits[4, 11] | None
    """The acquirer's BIN. Example: ``"400012"``."""
    mcc: Digits[4] | None
    merchant_name: ANS[1, 100] | None
    merchant_id: ANS[1, 15] | None
    """The merchant's id. Example: ``"SHOP0001"``."""
    merchant_country_ison: CountryIson | None
    """The merchant's country. Example: ``276``."""
    terminal_id: ANS[1, 16] | None
    """The terminal. Example: ``"TERM0001"``."""
    expires_at: N[1, 11]
    """When the request expires, in Unix seconds. Example: ``1795253700``."""
    validation_value: str | None
    """The value to send to the cardholder, encrypted for you; present only if the operator has configured you to send
    it.
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
