"""The whole requests of external payments, fees and limits, and the records that they name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.cards.issuer import BRITAIN, EUR, EVERYDAY, EVERYDAY_ACCOUNT, GBP, SEPA, SPECIAL_EUR, SPECIAL_GBP, UK, Issuer

if TYPE_CHECKING:
    from tests.cards.whole_requests import Cast

Members = dict[str, Any]
Requests = Callable[["Cast"], list[Members]]

LEVEL = {"access_level": 900}
WHY = {"reason_code": 9, "note": "Reported by phone, 3 March"}
FEE_WITH_COUNTRY = 304
"""A fee group that asks for the country; the default one asks for the region."""
FUNDS = 1_000_000

_ASSIGNMENT = {"country_ison": BRITAIN, "account_name": "O'Neil & Söhne", "risk_score": 7, **LEVEL}
_PAGE = {"paginator": {"item_count": 100, "offset": 0}, **LEVEL}
_FEE = {"fee_group_id": 301, "fee_code": "CARDREPL", "description": "Card replacement, 3 March"}
_ORDER = {
    "destination_account_name": "Alice & Söhne",
    "currency_ison": GBP,
    "amount": 2500,
    "reference_number": "INVOICE 7/2026",
    "description": "Rent, March",
    "note": "Flat 2",
    "withdrawal_purpose": 12,
    "receiver_type": 1,
    "industry_id": 54,
    "schemes": ["CHAPS", "FPS"],
    **LEVEL,
}


def _assigned(cast: Cast) -> list[Members]:
    of_account = {"account_id": cast.account_id, "card_id": cast.card_id, **_ASSIGNMENT}
    by_method = ({"epm_method_id": UK, "currency_ison": GBP}, {"epm_method_id": SEPA, "currency_ison": EUR})
    return [of_account | method for method in by_method]


def _assigned_specially(cast: Cast) -> list[Members]:
    british = {"special_account_id": SPECIAL_GBP, "epm_method_id": UK, "currency_ison": GBP}
    european = {"special_account_id": SPECIAL_EUR, "epm_method_id": SEPA, "currency_ison": EUR}
    return [{"card_id": cast.card_id, **_ASSIGNMENT, **account} for account in (british, european)]


def _transferred(cast: Cast) -> list[Members]:
    """To another bank, and to an address of this service."""
    outside = {"destination_sort_code": "200000", "destination_account_number": "55779911"}
    order = {"epm_address_id": cast.address_id, **_ORDER}
    return [order | outside, order | {"destination_iban": cast.own_iban}]


def _charged(cast: Cast) -> list[Members]:
    of_account = {"card_id": cast.card_id, "account_id": cast.account_id, "transaction_id": cast.transaction_id}
    priced = {"amount": 250, "currency_ison": EUR, "country_ison": BRITAIN}
    whole = {**of_account, **priced, "account_currency": EUR, **_FEE, **LEVEL}
    return [whole, {"card_id": cast.card_id, "account_currency": EUR, **_FEE, **LEVEL}]


def _limited(cast: Cast) -> list[Members]:
    of_type = {1: cast.card_id, 2: cast.account_id, 3: cast.holder_id}
    return [{"limit_type": limit_type, "record_id": number, **_PAGE} for limit_type, number in of_type.items()]


def _debited(cast: Cast) -> list[Members]:
    announced = {"epm_mandate_id": cast.epm_mandate_id, "amount": 700}
    return [announced | LEVEL, {"epm_transaction_id": cast.epm_transaction_id, **LEVEL}]


def _of_address(**members: Any) -> Requests:
    return lambda cast: [{"epm_address_id": cast.address_id, **LEVEL, **members}]


def _of_payment(**members: Any) -> Requests:
    return lambda cast: [{"epm_transaction_id": cast.epm_transaction_id, **LEVEL, **members}]


WHOLE: Mapping[str, Requests] = {
    "assignExternalPaymentAddress": _assigned,
    "assignExternalPaymentAddressForSpecialAccount": _assigned_specially,
    "cancelExternalPaymentMandate": lambda cast: [{"epm_mandate_id": cast.epm_mandate_id, "reason": 2, **LEVEL}],
    "changeDDExternalPaymentStatus": _of_payment(should_pay=0, reason=7),
    "getExternalPaymentAddress": lambda cast: [
        {"epm_address_id": number, **LEVEL} for number in (cast.address_id, cast.sepa_address_id)
    ],
    "getAccountExternalPaymentAddresses": lambda cast: [{"account_id": cast.account_id, **LEVEL}],
    "changeExternalPaymentAddressStatus": _of_address(status="S", **WHY),
    "transferToExternalPayment": _transferred,
    "inboundReturn": _of_payment(reason=1, reference="Not ours"),
    "directDebitReturn": lambda cast: [
        {"returned_epm_transaction_id": cast.epm_transaction_id, "reason": "MD06", "reference": "Claim 7", **LEVEL}
    ],
    "directCreditReturn": _of_payment(return_reason_id=1, reference="Not ours"),
    "createCustomFee": _charged,
    "getCardFees": lambda cast: [{"card_id": number, **_PAGE} for number in (cast.card_id, cast.other_card_id)],
    "getFeesGroups": lambda cast: [{"program_id": EVERYDAY, **LEVEL}],
    "getLimits": _limited,
    "getLimitsGroups": lambda cast: [{"limit_type": 2, "program_id": EVERYDAY_ACCOUNT, **LEVEL}],
    "getLimitsStatus": _limited,
    "simulateInboundPayment": _of_address(
        amount=5000, currency_ison=GBP, scheme="FPS", sender_name="Bob & Söhne", reference="INVOICE 7/2026"
    ),
    "simulateMandate": _of_address(creditor_name="Gym & Söhne", reference="MEMBER 7"),
    "simulateDirectDebit": _debited,
    "simulateOutboundResult": _of_payment(result="settled", reason="as usual"),
}


# -- what they name

ON_ADDRESS = frozenset(
    (
        "cancelExternalPaymentMandate",
        "changeDDExternalPaymentStatus",
        "changeExternalPaymentAddressStatus",
        "createCustomFee",
        "directCreditReturn",
        "directDebitReturn",
        "getAccountExternalPaymentAddresses",
        "getExternalPaymentAddress",
        "inboundReturn",
        "simulateDirectDebit",
        "simulateInboundPayment",
        "simulateMandate",
        "simulateOutboundResult",
        "transferToExternalPayment",
    )
)
"""What wants an address of the account, or what came and went by one."""


def provided(issuer: Issuer, action: str, made: Cast) -> Cast:
    """A cast with what an action of money names; the account has ``FUNDS`` in pounds when the action takes any."""
    if action == "getCardFees":
        return replace(made, other_card_id=issuer.card(card_fee_group_id=FEE_WITH_COUNTRY).card_id)
    if action not in ON_ADDRESS:
        return made
    address = issuer.address(made.account_id, card_id=made.card_id)
    made = replace(made, address_id=address["id"])
    return _PROVIDED[action](issuer, made, address) if action in _PROVIDED else made


def _two_addresses(issuer: Issuer, made: Cast, address: Any) -> Cast:
    issuer.data("changeExternalPaymentAddressStatus", epm_address_id=address["id"], status="A", **WHY)
    return replace(made, sepa_address_id=issuer.address(made.account_id, SEPA)["id"])


def _came(issuer: Issuer, made: Cast, address: Any, **members: Any) -> Cast:
    came = issuer.inbound(address, FUNDS, **members)
    return replace(made, epm_transaction_id=came["epm_transaction_id"], transaction_id=came["transaction_id"])


def _destination(issuer: Issuer, made: Cast, address: Any) -> Cast:
    return replace(_came(issuer, made, address), own_iban=issuer.address()["iban"])


def _mandate(issuer: Issuer, made: Cast, address: Any) -> Cast:
    return replace(made, epm_mandate_id=issuer.mandate(address))


def _debit(passed: bool) -> Callable[[Issuer, Cast, Any], Cast]:
    def provide(issuer: Issuer, made: Cast, address: Any) -> Cast:
        issuer.inbound(address, FUNDS)
        made = _mandate(issuer, made, address)
        debit = issuer.debit(made.epm_mandate_id, 700, passed=passed)
        return replace(made, epm_transaction_id=debit["epm_transaction_id"])

    return provide


def _paid(issuer: Issuer, made: Cast, address: Any) -> Cast:
    issuer.inbound(address, FUNDS)
    return replace(made, epm_transaction_id=issuer.pending_payment(address, 2500))


_PROVIDED: Mapping[str, Callable[[Issuer, Cast, Any], Cast]] = {
    "getExternalPaymentAddress": _two_addresses,
    "getAccountExternalPaymentAddresses": _two_addresses,
    "transferToExternalPayment": _destination,
    "inboundReturn": _came,
    "directCreditReturn": lambda issuer, made, address: _came(issuer, made, address, scheme="BACS"),
    "createCustomFee": _came,
    "cancelExternalPaymentMandate": _mandate,
    "changeDDExternalPaymentStatus": _debit(passed=False),
    "simulateDirectDebit": _debit(passed=False),
    "directDebitReturn": _debit(passed=True),
    "simulateOutboundResult": _paid,
}
