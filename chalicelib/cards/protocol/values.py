"""The value lists of the card API. The specification marks some of these lists "not shown", and this project defines
the values of these lists.
"""

from __future__ import annotations

API_VERSION = "1.2"

LONGEST_VALIDITY = 300
"""The maximum validity of a card in months from today (specification, Limits)."""

YES, NO = 1, 0

HOLDER_TYPES = {0: "personal", 1: "business"}
"""The values of ``holder_type``. Records contain a text, as in the specification (ANS). Requests also accept a number.
"""
PERSONAL, BUSINESS = 0, 1

ACCOUNT_GROUPS = {"limit_group_id": "limits", "fee_group_id": "fees", "risk_group_id": "risk rules"}
"""The group members of an account record."""

LIMIT_TYPES = {1: "card", 2: "account", 3: "holder"}
LIMIT_OF_CARD, LIMIT_OF_ACCOUNT, LIMIT_OF_HOLDER = 1, 2, 3
PER_TRANSACTION, PER_DAY, PER_WEEK, PER_MONTH, PER_YEAR = 0, 1, 7, 30, 365
DURATIONS = {
    PER_TRANSACTION: "a single transaction",
    PER_DAY: "a UTC day",
    PER_WEEK: "an ISO week, starting on Monday",
    PER_MONTH: "a month",
    PER_YEAR: "a year",
}
ANY_DEBIT, PURCHASES, CASH, EXTERNAL_DEBITS, MONEY_IN = 0, 1, 2, 3, 4
LIMIT_CLASSES = {
    ANY_DEBIT: "all debits",
    PURCHASES: "purchases",
    CASH: "cash",
    EXTERNAL_DEBITS: "outbound external payments and direct debits",
    MONEY_IN: "all credits except returns",
}
"""The values of ``limits_tx_type_id``, which are the classes of transactions that a limit entry can count."""
MOST_COUNT, MOST_AMOUNT, MOST_COUNTRIES = 999_999_999, 999_999_999_999_999, 999
"""The remainder if there is no bound, which is the maximum value of the field."""
ANY_REGION, DOMESTIC, WITHIN_REGION, BETWEEN_REGIONS = 0, 1, 2, 3
REGION_TYPES = {
    ANY_REGION: "anywhere",
    DOMESTIC: "in the holder's country",
    WITHIN_REGION: "in another country that shares a region with the holder's",
    BETWEEN_REGIONS: "in a country that shares no region with the holder's",
}

KINDS_OF_CARD = {0: "physical", 1: "virtual"}
VIRTUAL = 1

KEPT_OR_NEW = {0: "keep", 1: "new"}

CONFIRMATIONS = {"Y": "the cardholder has confirmed", "N": "the cardholder has refused"}

REASONS = {
    1: "other",
    2: "requested by the holder",
    3: "requested by the programme manager",
    4: "lost",
    5: "stolen",
    6: "damaged",
    7: "never received",
    8: "expired",
    9: "fraud suspected",
    10: "fraud confirmed",
    11: "risk rule",
    12: "dispute",
    13: "legal order",
    14: "know-your-customer check pending",
    15: "know-your-customer check failed",
    16: "insolvency",
    17: "death of the holder",
    18: "inactivity",
    19: "account closed",
    20: "resolved",
}
"""The values of ``reason_code`` for a status change. This project defines this list."""
OF_RISK_RULE, OF_DISPUTE = 11, 12

TRANSACTION_TYPES = {
    0: "purchase",
    1: "cash withdrawal",
    2: "credit adjustment",
    9: "cashback",
    10: "account funding",
    11: "quasi-cash",
    12: "cash advance",
    19: "debit adjustment",
    20: "refund",
    21: "deposit",
    22: "load",
    23: "unload",
    26: "original credit",
    28: "payment",
    30: "balance inquiry",
    39: "verification",
    60: "inbound external payment",
    61: "outbound external payment",
    62: "direct debit",
    63: "return that credits the holder",
    64: "return that debits the holder",
    70: "fee",
}
"""The transaction types, which are the first two digits of the processing code. This project defines the types from 60.
"""
CARD_TRANSACTION_TYPES = {number: meaning for number, meaning in TRANSACTION_TYPES.items() if number < 60}
"""The types of card transactions."""
PURCHASE, CREDIT_ADJUSTMENT, DEBIT_ADJUSTMENT, REFUND = 0, 2, 19, 20
EXTERNAL_IN, EXTERNAL_OUT, DIRECT_DEBIT, FEE = 60, 61, 62, 70
RETURN_CREDIT, RETURN_DEBIT = 63, 64
RETURN_TYPES = {"credit": RETURN_CREDIT, "debit": RETURN_DEBIT}
"""The transaction types of external payment returns, keyed by the effect on the holder's account."""
RETURNS = frozenset(RETURN_TYPES.values())
"""The transaction types of returns. Returns are free and do not count towards limits."""
EXTERNAL_TYPES = frozenset((EXTERNAL_IN, EXTERNAL_OUT, DIRECT_DEBIT)) | RETURNS
"""The types of external payments."""
CREDIT_TYPES = frozenset((2, 20, 21, 22, 26, EXTERNAL_IN, RETURN_CREDIT))
"""The transaction types that credit the holder. All other booked types are debits."""
INQUIRY_TYPES = frozenset((30, 39))
"""The transaction types that do not move money."""
TYPES_OF_CLASS = {
    PURCHASES: frozenset((0, 9, 10, 28)),
    CASH: frozenset((1, 11, 12)),
    EXTERNAL_DEBITS: frozenset((EXTERNAL_OUT, DIRECT_DEBIT)),
    MONEY_IN: CREDIT_TYPES - RETURNS,
}
"""The transaction types that each class of ``LIMIT_CLASSES`` counts. ``ANY_DEBIT`` counts every debit."""
ANY_TYPE = 99
"""The value that matches any transaction type or entry mode in a fee or limit entry. In other members, 0 matches any
value.
"""

ENTRY_MODES = {
    0: "unknown",
    1: "manual",
    2: "magnetic stripe",
    5: "chip",
    7: "contactless",
    10: "credential on file",
    80: "fallback",
    81: "e-commerce",
    90: "full magnetic stripe",
    91: "contactless magnetic stripe",
}

RESPONSE_CODES = {
    "00": "approved",
    "10": "partially approved",
    "14": "invalid card number",
    "41": "lost card",
    "43": "stolen card",
    "46": "closed account or blocked card",
    "51": "insufficient funds",
    "54": "expired card",
    "55": "incorrect PIN",
    "57": "not permitted for this card",
    "59": "suspected fraud",
    "61": "amount limit exceeded",
    "62": "restricted card",
    "65": "count limit exceeded",
    "75": "too many incorrect PINs",
    "78": "card not activated",
    "91": "issuer unavailable",
    "96": "system malfunction",
    "1A": "further authentication required",
    "N7": "incorrect CVC2",
}
"""Response codes sent to the network (ISO 8583)."""

PRESENTMENT, CHARGEBACK, FEE_COLLECTION, EXTERNAL_PAYMENT = 1240, 1442, 1740, 1200
"""The values of ``mti``, which are the message types of transactions (ISO 8583). External payments count as financial
requests.
"""
FIRST_PRESENTMENT, FURTHER_PRESENTMENT, FIRST_CHARGEBACK = 200, 205, 450
"""The values of ``function_code``, which specifies the purpose of a message (ISO 8583, field 24)."""

APPROVED, APPROVED_IN_PART = "00", "10"
APPROVALS = (APPROVED, APPROVED_IN_PART)

AUTHORIZATION, ADVICE, INCREMENT, REVERSAL, EXPIRY = 1, 2, 3, 4, 5
AUTHORIZE_TYPES = {
    AUTHORIZATION: "authorization",
    ADVICE: "advice: the network's stand-in decision",
    INCREMENT: "increment of an authorization",
    REVERSAL: "full or partial reversal of an authorization",
    EXPIRY: "expiry of an authorization's hold",
}
"""The values of ``authorize_type``. This project defines this list."""
ADVICE_REASONS = {ADVICE: 1, EXPIRY: 2}
"""The values of ``advice_reason_code``: 1 for a network decision on the issuer's behalf, and 2 for an expired hold."""
HOLD_SECONDS = 7 * 24 * 3600
"""The number of seconds after which the hold of an authorization or increment expires."""

ECI_INDICATORS = {
    0: "not authenticated (Mastercard)",
    1: "attempted (Mastercard)",
    2: "authenticated (Mastercard)",
    5: "authenticated (Visa)",
    6: "attempted (Visa)",
    7: "not authenticated (Visa)",
}

SUSPICIOUS = "mark_transaction_as_suspicious"
NOTIFY = "notify_cardholder_by_sending_tais_notification"
CARD_TO_RISK = "change_card_status_to_risk"
ACCOUNT_TO_SUSPENDED = "change_account_status_to_suspended"
REJECT = "reject_transaction"
RISK_ACTIONS = (SUSPICIOUS, NOTIFY, CARD_TO_RISK, ACCOUNT_TO_SUSPENDED, REJECT)
SECURITY_CHECKS = (
    "card_expiration_date_present",
    "online_pin",
    "offline_pin",
    "3_d_secure",
    "cvv_2",
    "magnetic_stripe",
    "chip_data",
    "avs",
    "phone_number",
    "signature",
)

FRICTIONLESS, CHALLENGE, REJECTED = "frictionless", "challenge", "rejected"
"""The outcomes of an authentication: no challenge, a challenge to the cardholder, or a card that cannot be used."""

EPM_TYPES = {1: "sort code and account number", 2: "IBAN"}
MOST_ADDRESSES = 50
"""The maximum number of external payment addresses per account, which are read in one batch."""
CUT_OFF_SECONDS = 24 * 3600
"""The number of seconds from a direct debit's announcement to the cut-off."""
ACCOUNT_TYPES = {1: "a holder's account", 2: "a special account of the programme manager"}
OF_HOLDER, SPECIAL = 1, 2
ASSIGNED, ASSIGNMENT_PENDING, ASSIGNMENT_REFUSED = 1, 2, 3
ASSIGNMENT_STATES = {
    ASSIGNED: "assigned",
    ASSIGNMENT_PENDING: "the provider has not responded",
    ASSIGNMENT_REFUSED: "the provider has refused",
}

DIRECT_DEBIT_REASONS = {
    "0": "refer to payer",
    "1": "instruction cancelled",
    "2": "payer deceased",
    "3": "account transferred",
    "4": "advance notice disputed",
    "5": "no account, or wrong account type",
    "6": "no instruction",
    "7": "amount differs",
    "8": "amount not yet due",
    "9": "presentation overdue",
    "A": "service user differs",
    "B": "account closed",
    "AC01": "incorrect account number",
    "AC04": "closed account",
    "AC06": "blocked account",
    "AM04": "insufficient funds",
    "AM05": "duplication",
    "MD06": "refund requested by the payer",
    "MD07": "payer deceased",
    "MS02": "reason not specified by the payer",
    "MS03": "reason not specified by the bank",
}
"""The reason codes of Bacs (ARUDD) and SEPA."""
NUMBERED_DEBIT_REASONS = {int(code): text for code, text in DIRECT_DEBIT_REASONS.items() if code.isdigit()}
"""The numeric reason codes for direct debits."""
