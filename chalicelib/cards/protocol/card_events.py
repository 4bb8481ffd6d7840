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
    card_request_id: Id
    holder_id: Id
    account_id: Id
    virtual: fields.KindOfCard
    reissued: Flag
    card_status: fields.CardStatus


class CardActivatedEvent(Answer):
    """A card was activated."""

    card_id: Id
    card_request_id: Id
    holder_id: Id
    card_status: fields.CardStatus


class CardStatusEvent(Answer):
    """A card's status changed."""

    card_id: Id
    holder_id: Id
    card_status_before: fields.CardStatus
    card_status: fields.CardStatus
    reason_code: fields.ReasonCode | None


class CardAuthorizationEvent(Answer):
    """The network sent a message about a card's use, or a hold expired. A decline has the requested amounts."""

    authorize_id: Id
    authorize_type: fields.AuthorizeType
    trans_link: ANS[1, 36]
    card_id: Id
    account_id: Id | None
    response_code: fields.ResponseCode
    transaction_type: fields.CardTransactionType
    transaction_amount: int
    transaction_currency_ison: CurrencyIson
    holder_amount: int
    holder_currency_ison: CurrencyIson
    mcc: Digits[4] | None
    merchant_name: ANS[1, 100] | None
    suspicious: Flag
    notify_cardholder: Flag
    available_balance: int
    settled_balance: int


class CardClearingEvent(Answer):
    """A clearing or refund was booked."""

    transaction_id: Id
    trans_link: ANS[1, 36]
    card_id: Id
    account_id: Id
    transaction_type: fields.CardTransactionType
    transaction_amount: int
    transaction_currency_ison: CurrencyIson
    holder_amount: int
    holder_currency_ison: CurrencyIson
    released_amount: int
    available_balance: int
    settled_balance: int


class AccountStatusEvent(Answer):
    """An account's status changed."""

    account_id: Id
    holder_id: Id
    account_status_before: fields.AccountStatus
    account_status: fields.AccountStatus
    reason_code: fields.ReasonCode | None


class ReplacedGroup(Answer):
    """A group that the new programme does not allow, and its replacement."""

    group: fields.AccountGroup
    id_before: Id | None
    id: Id


class AccountProgramEvent(Answer):
    """An account moved to another programme. It keeps the groups that the new programme allows."""

    account_id: Id
    holder_id: Id
    program_id_before: Id
    program_id: Id
    replaced_groups: list[ReplacedGroup]


class ExternalPaymentEvent(Answer):
    """The current state of a payment, direct debit or return."""

    epm_transaction_id: Id
    kind: fields.KindOfPayment
    state: fields.PaymentState
    reason: ANS[1, 255] | None
    epm_address_id: Id
    account_id: Id
    account_type: fields.AccountType
    card_id: Id | None
    holder_id: Id | None
    instructed_amount: int
    instructed_currency: CurrencyIson
    settlement_amount: int | None
    settlement_currency: CurrencyIson | None
    description: ANS[1, 255] | None
    counterparty_name: ANS[1, 101] | None
    counterparty_iban: AN[15, 34] | None
    counterparty_sort_code: AN[6] | None
    counterparty_account_number: AN[1, 26] | None
    scheme: fields.Scheme | None
    transaction_id: Id | None
    return_transaction_id: Id | None
    trans_link: ANS[1, 36] | None
    returned_epm_transaction_id: Id | None
    epm_mandate_id: Id | None
    cut_off: N[1, 11] | None
    created_at: Digits[1, 11]


class MandateEvent(Answer):
    """A mandate for an address was created or cancelled."""

    epm_mandate_id: Id
    state: fields.MandateState
    epm_address_id: Id
    creditor_name: ANS[1, 70]
    reference: ANS[1, 255]


class ThreeDSecureEvent(Answer):
    """An online shop is waiting for the cardholder's answer, to be submitted with authenticationConfirm."""

    auth_request_id: Id
    card_id: Id
    amount: int
    currency_ison: CurrencyIson
    acquirer_bin: Digits[4, 11] | None
    mcc: Digits[4] | None
    merchant_name: ANS[1, 100] | None
    merchant_id: ANS[1, 15] | None
    merchant_country_ison: CountryIson | None
    terminal_id: ANS[1, 16] | None
    expires_at: N[1, 11]
    validation_value: str | None


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
