"""The enumerated fields as types: each takes the values of one list of ``values`` or ``states``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chalicelib.cards.protocol import authorization_states, payment_states, schemes, states, values
from chalicelib.cards.protocol.fields import choice, letter, word

if TYPE_CHECKING:
    HolderType = int
    KindOfCard = int
    KeptOrNew = int
    PinStatus = int
    ReasonCode = int
    LimitType = int
    TransactionType = int
    CardTransactionType = int
    EntryModeType = int
    EciIndicator = int
    AuthorizeType = int
    AccountStatus = str
    AccountGroup = str
    NewAccountStatus = str
    CardStatus = str
    CardStatusToSet = str
    ConfirmationStatus = str
    ResponseCode = str
    DisputeStep = str
    EpmMethod = int
    EpmType = int
    AccountType = int
    AssignmentState = int
    NumberedDebitReason = int
    AddressStatus = str
    PaymentState = str
    KindOfPayment = str
    MandateState = str
    DirectDebitReason = str
    Scheme = str
    PaymentResult = str
else:
    HolderType = choice(values.HOLDER_TYPES)
    KindOfCard = choice(values.KINDS_OF_CARD)
    KeptOrNew = choice(values.KEPT_OR_NEW)
    PinStatus = choice(states.PIN_STATES)
    ReasonCode = choice(values.REASONS, 20)
    LimitType = choice(values.LIMIT_TYPES)
    TransactionType = choice(values.TRANSACTION_TYPES, 2)
    CardTransactionType = choice(values.CARD_TRANSACTION_TYPES, 2)
    EntryModeType = choice(values.ENTRY_MODES, 2)
    EciIndicator = choice(values.ECI_INDICATORS)
    AuthorizeType = choice(values.AUTHORIZE_TYPES)
    AccountGroup = word(values.ACCOUNT_GROUPS, 20, shortest=1)
    AccountStatus = letter(states.ACCOUNT_STATES)
    NewAccountStatus = letter(states.NEW_ACCOUNT_STATES)
    CardStatus = letter(states.CARD_STATES)
    CardStatusToSet = letter(states.CARD_STATES_TO_SET)
    ConfirmationStatus = letter(values.CONFIRMATIONS)
    ResponseCode = word(values.RESPONSE_CODES, 2)
    DisputeStep = word(authorization_states.DISPUTE_STEPS, 10, shortest=1)
    EpmMethod = choice(schemes.METHODS, 20)
    EpmType = choice(values.EPM_TYPES)
    AccountType = choice(values.ACCOUNT_TYPES)
    AssignmentState = choice(values.ASSIGNMENT_STATES)
    NumberedDebitReason = choice(values.NUMBERED_DEBIT_REASONS, 6)
    AddressStatus = letter(payment_states.ADDRESS_STATES)
    PaymentState = letter(payment_states.PAYMENT_STATES)
    KindOfPayment = word(payment_states.PAYMENT_KINDS, 6, shortest=1)
    MandateState = letter(payment_states.MANDATE_STATES)
    DirectDebitReason = word(values.DIRECT_DEBIT_REASONS, 6, shortest=1)
    Scheme = word(schemes.SCHEME_NAMES, 255, shortest=1)
    PaymentResult = word(payment_states.RESULT_MEANINGS, 20, shortest=1)
