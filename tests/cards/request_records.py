"""Functions that create the records named in complete requests, in the state that each action needs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from chalicelib.foundation.clock import milliseconds
from tests.cards.issuer import PIN, SEPA, Issuer
from tests.cards.reports.rows import FEES_APART, WHOLE_MESSAGE, WHOLE_TRANSACTION, message, transaction
from tests.cards.whole_requests import EVERY_ACTION, WHOLE_HOLDER, WHY, Records, whole

FEE_WITH_COUNTRY = 304
"""A fee group with an entry that checks the country. The default fee group checks the region."""
FUNDS = 1_000_000
AUTHORIZED = 2500
"""The amount of the authorization that network requests use, in cents."""


def create_records(
    issuer: Issuer,
    action: str,
    *,
    status: str = "A",
    holder_level: int = 0,
    account_level: int = 0,
    card_level: int = 0,
) -> Records:
    """Create records for an action, by default with an active physical card and a PIN."""
    holder = issuer.holder(**WHOLE_HOLDER, access_level=holder_level)
    account = issuer.account(holder_id=holder, access_level=account_level)
    card = issuer.card_in(
        "N" if action == "activateCard" else status,
        holder_id=holder,
        account_id=[account],
        account_owner_id=[holder],
        access_level=card_level,
        card_virtual=0,
        card_pin=PIN,
        card_reference_id="Ref7",
        card_name_line_4="O'NEIL, SOEHNE",
    )
    assert card.expiration is not None
    records = Records(holder, account, card.card_id, card.card_request_id, pan=card.pan, cvc2=card.cvc2)
    records = replace(records, year=card.expiration["year"], month=card.expiration["month"])
    if EVERY_ACTION[action].effect == "read":
        issuer.data("changeCardStatus", card_id=card.card_id, status="A", **WHY)
        issuer.data("changeAccountStatus", account_id=account, account_status="A", **WHY)
    if action == "unblockPin":
        issuer.block_pin(card.card_id)
    if action == "authenticationConfirm":
        asked = issuer.authentication(card.card_id)
        records = replace(records, auth_request_id=asked["auth_request_id"], validation_value=asked["validation_value"])
    return _with_rows(issuer, action, _with_authorization(issuer, action, _with_payments(issuer, action, records)))


_ON_ADDRESS = frozenset(
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


def _with_payments(issuer: Issuer, action: str, records: Records) -> Records:
    if action == "getCardFees":
        return replace(records, other_card_id=issuer.card(card_fee_group_id=FEE_WITH_COUNTRY).card_id)
    if action not in _ON_ADDRESS:
        return records
    address = issuer.address(records.account_id, card_id=records.card_id)
    records = replace(records, address_id=address["id"])
    return _PROVIDED[action](issuer, records, address) if action in _PROVIDED else records


def _two_addresses(issuer: Issuer, records: Records, address: Any) -> Records:
    issuer.data("changeExternalPaymentAddressStatus", epm_address_id=address["id"], status="A", **WHY)
    return replace(records, sepa_address_id=issuer.address(records.account_id, SEPA)["id"])


def _came(issuer: Issuer, records: Records, address: Any, **members: Any) -> Records:
    came = issuer.inbound(address, FUNDS, **members)
    return replace(records, epm_transaction_id=came["epm_transaction_id"], transaction_id=came["transaction_id"])


def _destination(issuer: Issuer, records: Records, address: Any) -> Records:
    return replace(_came(issuer, records, address), own_iban=issuer.address()["iban"])


def _mandate(issuer: Issuer, records: Records, address: Any) -> Records:
    return replace(records, epm_mandate_id=issuer.mandate(address))


def _debit(passed: bool) -> Callable[[Issuer, Records, Any], Records]:
    def provide(issuer: Issuer, records: Records, address: Any) -> Records:
        issuer.inbound(address, FUNDS)
        records = _mandate(issuer, records, address)
        debit = issuer.debit(records.epm_mandate_id, 700, passed=passed)
        return replace(records, epm_transaction_id=debit["epm_transaction_id"])

    return provide


def _paid(issuer: Issuer, records: Records, address: Any) -> Records:
    issuer.inbound(address, FUNDS)
    return replace(records, epm_transaction_id=issuer.pending_payment(address, 2500))


_PROVIDED: Mapping[str, Callable[[Issuer, Records, Any], Records]] = {
    "getExternalPaymentAddress": _two_addresses,
    "getAccountExternalPaymentAddresses": _two_addresses,
    "transferToExternalPayment": _destination,
    "inboundReturn": _came,
    "directCreditReturn": lambda issuer, records, address: _came(issuer, records, address, scheme="BACS"),
    "createCustomFee": _came,
    "cancelExternalPaymentMandate": _mandate,
    "changeDDExternalPaymentStatus": _debit(passed=False),
    "simulateDirectDebit": _debit(passed=False),
    "directDebitReturn": _debit(passed=True),
    "simulateOutboundResult": _paid,
}


_ON_AUTHORIZATION = ("simulateIncrement", "simulateReversal", "simulateExpiry", "simulateClearing", "simulateRefund")


def _with_authorization(issuer: Issuer, action: str, records: Records) -> Records:
    if action not in (*_ON_AUTHORIZATION, "simulateDispute"):
        return records
    issuer.inbound(issuer.address(records.account_id), FUNDS)
    asked = issuer.authorization(card_id=records.card_id, transaction_type=0, amount=AUTHORIZED)
    assert asked["response_code"] == "00", asked
    records = replace(records, trans_link=asked["trans_link"])
    if action not in ("simulateRefund", "simulateDispute"):
        return records
    collected = issuer.clearing(asked, AUTHORIZED)
    return replace(records, transaction_id=collected["transaction_id"])


def _with_rows(issuer: Issuer, action: str, records: Records) -> Records:
    """Add two rows for a report: the row before the requested page, and a row with every member."""
    at = milliseconds(issuer.clock) - 5000
    if action in ("getCardsActivity", "getFinancialAuthorizes"):
        first = message(issuer, records.card_id, at)
        message(issuer, records.card_id, at + 1, **WHOLE_MESSAGE | FEES_APART)
        return replace(records, authorize_id=first)
    if action not in ("getTransactions", *("getFinancialDetailAddendums", "simulateAddendum")):
        return records
    first, second = (
        transaction(issuer, records.card_id, records.account_id, at + each, WHOLE_TRANSACTION) for each in (0, 1)
    )
    records = replace(records, transaction_id=second, earlier_transaction_id=first)
    if action != "getFinancialDetailAddendums":
        return records
    addendums = [issuer.data("simulateAddendum", **whole("simulateAddendum", records)[0])["id"] for _ in range(2)]
    return replace(records, addendum_id=addendums[0])
