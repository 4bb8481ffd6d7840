"""Cases that call every action of the card API and of the simulator."""

from typing import Any

from chalicelib.cards.actions import ACTIONS
from tests.cards.case import (
    CLAIM,
    LOOK,
    NETWORK_CASES,
    PROVIDER,
    REPORT_CASES,
    WRITE,
    Case,
    Members,
    of_card,
    of_card_with,
)
from tests.cards.issuer import (
    EUR,
    EVERYDAY,
    EVERYDAY_ACCOUNT,
    EXTERNAL_IBANS,
    GBP,
    GERMANY,
    HOLDER_BLOCK,
    HOLDER_DETAILS,
    MANAGER,
    PIN,
    SPECIAL_GBP,
    UK,
    Issuer,
)
from tests.cards.stored_money import payment

ANNOUNCED = "simulateDirectDebit"
TWO = (LOOK, LOOK)


def of_account(**members: Any) -> Members:
    return lambda issuer: {"account_id": issuer.account(), **members}


def of_new_account(**members: Any) -> dict[str, Any]:
    least = {"currency_ison": EUR, "account_status": "A", "program_id": EVERYDAY_ACCOUNT, "skip_holder_validation": 0}
    return least | members


def of_new_card(**members: Any) -> dict[str, Any]:
    least = {"card_program_id": EVERYDAY, "card_country_ison": GERMANY, "card_name_line_3": "ZOE ONEIL"}
    return least | {"card_virtual": 1} | members


def of_holders_card(issuer: Issuer) -> dict[str, Any]:
    card = issuer.card()
    return of_new_account(holder_id=card.holder_id, cards=[card.card_id])


def of_shared_card(issuer: Issuer) -> dict[str, Any]:
    account, holder = issuer.data("createAccount", **of_new_account(**HOLDER_BLOCK)).values()
    return of_new_card(holder_id=holder, account_id=[account], account_owner_id=[holder])


def of_blocked_pin(issuer: Issuer) -> dict[str, Any]:
    card = issuer.card_in("A", card_virtual=0, card_pin=PIN)
    issuer.block_pin(card.card_id)
    return {"card_id": card.card_id}


def of_authentication(**members: Any) -> Members:
    def members_of(issuer: Issuer) -> dict[str, Any]:
        asked = issuer.authentication(issuer.card_in("A").card_id)["auth_request_id"]
        return {"auth_request_id": asked, "confirmation_status": "Y", "oob_auth_method": 1, **members}

    return members_of


def of_purchase(rule: bool) -> Members:
    def members_of(issuer: Issuer) -> dict[str, Any]:
        card = issuer.card_in("A").card_id
        if rule:
            issuer.data("createCardAcsMerchantWhitelistRule", card_id=card, rule_name="Groceries", mcc="5411")
        return {"card_id": card, "amount": 1999, "currency_ison": EUR, "mcc": "5411"}

    return members_of


def of_address(method: int = UK, **members: Any) -> Members:
    return lambda issuer: {"epm_address_id": issuer.address(method=method)["id"], **members}


def of_special_account(*, with_address: bool = False) -> Members:
    def members_of(issuer: Issuer) -> dict[str, Any]:
        if with_address:
            issuer.special_address()
        return {"special_account_id": SPECIAL_GBP, "epm_method_id": UK, "currency_ison": GBP}

    return members_of


def of_transfer(amount: int = 500, **members: Any) -> Members:
    order = {"destination_iban": EXTERNAL_IBANS[UK], "destination_account_name": "Alice", "currency_ison": GBP}
    return lambda issuer: {"epm_address_id": issuer.funded_address(500)["id"], "amount": amount, **order, **members}


def of_inbound(**members: Any) -> Members:
    def members_of(issuer: Issuer) -> dict[str, Any]:
        return {"epm_transaction_id": issuer.inbound(issuer.address(), 500, **members)["epm_transaction_id"]}

    return members_of


def of_inbound_from_here(issuer: Issuer) -> dict[str, Any]:
    """Create a transfer between two addresses of this service. Return the id of the payee's payment."""
    transfer = of_transfer(destination_iban=issuer.address()["iban"])(issuer)
    sent = issuer.data("transferToExternalPayment", **transfer)["id"]
    return {"epm_transaction_id": payment(issuer, sent).counterpart}


def of_debit(name: str = "epm_transaction_id", passed: bool = False, **members: Any) -> Members:
    def members_of(issuer: Issuer) -> dict[str, Any]:
        debit = issuer.debit(issuer.mandate(issuer.funded_address(500)), 500, passed=passed)
        return {name: debit["epm_transaction_id"], **members}

    return members_of


def of_mandate(**members: Any) -> Members:
    return lambda issuer: {"epm_mandate_id": issuer.mandate(issuer.address()), **members}


def of_limits(**members: Any) -> Members:
    return lambda issuer: {"record_id": issuer.card().card_id, "limit_type": 1, **PAGE, **members}


PAGE = {"paginator": {"item_count": 20, "offset": 0}}
FEE = {"fee_group_id": 301, "fee_code": "CARDREPL", "description": "New card"}


def of_fee_of_card(issuer: Issuer) -> dict[str, Any]:
    card = issuer.card()
    issuer.inbound(issuer.address(card.account_id), 1000)
    return {"card_id": card.card_id, "account_currency": EUR, **FEE}


def of_result(issuer: Issuer) -> dict[str, Any]:
    return {"epm_transaction_id": issuer.pending_payment(issuer.funded_address(500), 500), "result": "settled"}


REVEALS = [Case(name, of_card(), writes=False) for name, action in ACTIONS.items() if action.effect == "reveal"]
CARD_CASES = [
    # accounts
    Case("createAccount for a new holder", lambda issuer: of_new_account(**HOLDER_BLOCK), looks=()),
    Case("createAccount for a holder", lambda issuer: of_new_account(holder_id=issuer.holder())),
    Case("createAccount on a card", of_holders_card),
    Case("changeAccountStatus", of_account(account_status="S", reason_code=2, note="asked for")),
    Case("changeAccountStatus of nobody", lambda issuer: {"account_id": 999_999, "account_status": "S"}, writes=False),
    Case("changeAccountProgramId", of_account(account_program_id=502)),
    Case("getAccounts", of_account(), writes=False),
    Case("getAccounts of a card", of_card(), looks=(LOOK, LOOK), writes=False),
    Case("getAccounts of a card and an account", of_card_with("card_id", "account_id"), writes=False),
    Case("assignAccountToRiskRuleGroup", of_account(risk_rule_group_id=402)),
    Case("assignAccountToLimitRuleGroup", of_account(limit_group_id=212)),
    Case("assignAccountToFeeRuleGroup", of_account(fee_group_id=302)),
    # cards
    Case("activateCard", of_card()),
    Case("activateCard with wrong data", of_card(card_pan="2223000000000007")),
    Case("assignCardToFeesGroup", of_card(fees_group_id=302)),
    Case("assignCardToLimitsGroup", of_card(limits_group_id=202)),
    Case("assignCardToUsageGroup", of_card(usages_group_id=602)),
    Case("assignCardToRiskRuleGroup", of_card(risk_rules_group_id=402)),
    Case("changeCardSchemeAccountUpdatesStatus", of_card(participating=1)),
    Case("changeCardStatus", of_card("A", status="T", reason_code=2, note="asked for")),
    Case("createCard for a new holder", lambda issuer: of_new_card(**HOLDER_BLOCK), looks=()),
    Case("createCard for a holder", lambda issuer: of_new_card(holder_id=issuer.holder())),
    Case("createCard on an account", of_shared_card),
    *REVEALS,
    Case("getCardDetails", of_card(), writes=False),
    Case("getCardStatus", of_card(), writes=False),
    Case("reissueCard", of_card("A", card_name_line_3="ZOE ONEIL")),
    Case("reissueCard with a new number", of_card("A", card_name_line_3="ZOE ONEIL", generate_new_pan=1)),
    Case("setPin", of_card(pin=PIN)),
    Case("unblockPin", of_blocked_pin),
    Case("getDesign", lambda issuer: {"program_id": EVERYDAY}, looks=(), writes=False),
    Case("changeCardAcsPassword", of_card(acs_password="correct horse")),
    Case("createCardAcsMerchantWhitelistRule", of_card(rule_name="Groceries", mcc="5411")),
    Case("authenticationConfirm", of_authentication(), looks=(LOOK, LOOK)),
    Case("authenticationConfirm with a wrong value", of_authentication(validation_value="x"), looks=(LOOK, LOOK)),
    # holders
    Case("getHolder", lambda issuer: {"holder_id": issuer.holder()}, writes=False),
    Case("getHolder of a card", of_card(), looks=(LOOK, LOOK), writes=False),
    Case("getHolder of a holder and a card", of_card_with("card_id", "holder_id"), writes=False),
    Case("getHolderAccounts", lambda issuer: {"holder_id": issuer.card().holder_id}, looks=(LOOK, LOOK), writes=False),
    Case("getHolderAccounts without one", lambda issuer: {"holder_id": issuer.holder()}, writes=False),
    Case("createHolder", lambda issuer: HOLDER_DETAILS, looks=(), write=CLAIM),
    Case("updateHolder", lambda issuer: {**HOLDER_DETAILS, "holder_id": issuer.holder(), "city": "Leeds"}),
    Case("updateHolder as it is", lambda issuer: {**HOLDER_DETAILS, "holder_id": issuer.holder()}, writes=False),
    # the simulator
    Case("simulateAuthentication", of_purchase(rule=False), looks=(LOOK, "Query")),
    Case("simulateAuthentication by rule", of_purchase(rule=True), looks=(LOOK, "Query"), writes=False),
]
OPENED, TAKEN, SENT_BACK = (LOOK, WRITE), (PROVIDER, WRITE), (PROVIDER, LOOK, WRITE)
"""The calls that open an address, that complete an accepted payment, and that complete a refused payment or a return.

The sandbox provider opens an address without a write. Only the account numbers are read.
"""
MONEY_CASES = [
    # external payments
    Case("assignExternalPaymentAddress", of_account(epm_method_id=UK, currency_ison=GBP), looks=TWO, asked=OPENED),
    Case("assignExternalPaymentAddressForSpecialAccount", of_special_account(), asked=OPENED),
    Case(
        "assignExternalPaymentAddressForSpecialAccount once more", of_special_account(with_address=True), asked=OPENED
    ),
    Case("cancelExternalPaymentMandate", of_mandate(reason=2)),
    Case("changeDDExternalPaymentStatus", of_debit(should_pay=0, reason=7)),
    Case("getExternalPaymentAddress", of_address(), writes=False),
    Case(
        "getAccountExternalPaymentAddresses",
        lambda issuer: {"account_id": issuer.address()["account_id"]},
        looks=TWO,
        writes=False,
    ),
    Case("getAccountExternalPaymentAddresses without one", of_account(), writes=False),
    Case("changeExternalPaymentAddressStatus", of_address(status="S", reason_code=2, note="asked for")),
    Case("transferToExternalPayment", of_transfer(), looks=TWO, asked=TAKEN),
    Case(
        "transferToExternalPayment that the provider refuses",
        of_transfer(destination_account_name="Refuse me"),
        looks=TWO,
        asked=SENT_BACK,
    ),
    Case(
        "transferToExternalPayment to an address here",
        lambda issuer: of_transfer(destination_iban=issuer.address()["iban"])(issuer),
        looks=TWO,
    ),
    Case("transferToExternalPayment of too much", of_transfer(501), looks=TWO, writes=False),
    Case("inboundReturn", of_inbound(), looks=TWO, asked=SENT_BACK),
    Case("inboundReturn to an address here", of_inbound_from_here, looks=TWO),
    Case(
        "directDebitReturn",
        of_debit("returned_epm_transaction_id", passed=True, reason="MD06"),
        looks=TWO,
        asked=SENT_BACK,
    ),
    Case("directCreditReturn", of_inbound(scheme="BACS"), looks=TWO, asked=SENT_BACK),
    # fees and limits
    Case("createCustomFee", lambda issuer: {"account_id": issuer.funded_address(1000)["account_id"], **FEE}),
    Case("createCustomFee of a card", of_fee_of_card, looks=TWO),
    Case("getCardFees", of_card(**PAGE), writes=False),
    Case("getFeesGroups", lambda issuer: {}, looks=(), writes=False),
    Case("getLimits", of_limits(), writes=False),
    Case("getLimitsGroups", lambda issuer: {"limit_type": 1}, looks=(), writes=False),
    Case("getLimitsStatus", of_limits(), writes=False),
    # the simulator
    Case(
        "simulateInboundPayment", of_address(amount=500, currency_ison=GBP, scheme="FPS", sender_name="Bob"), looks=TWO
    ),
    Case("simulateMandate", of_address(creditor_name="Gym", reference="MEMBER-7")),
    Case(ANNOUNCED, of_mandate(amount=500), looks=(LOOK, LOOK, LOOK)),
    Case("simulateDirectDebit at its cut-off", of_debit(), looks=TWO),
    Case("simulateOutboundResult", of_result, looks=TWO),
]
CASES = CARD_CASES + MONEY_CASES + NETWORK_CASES + REPORT_CASES


def warmed(issuer: Issuer) -> Issuer:
    """Return an issuer whose process has cached the set-up, has recorded its use, and has unused identifiers."""
    issuer.data("getDesign", program_id=EVERYDAY)
    issuer.card()
    address = issuer.funded_address(500)
    issuer.mandate(address)
    issuer.purchase(issuer.card_in("A").card_id, 1)
    hub = issuer.hub
    catalogue = hub.cards.programmes.catalogue(MANAGER)
    hub.cards.programmes.used |= {(MANAGER, (kind, each.id)) for kind, each in catalogue.entries()}
    return issuer


def all_in_use(issuer: Issuer) -> None:
    programmes = issuer.hub.cards.programmes
    catalogue = programmes.catalogue(MANAGER)
    programmes.used.clear()
    programmes.mark_used(catalogue, [(kind, each.id) for kind, each in catalogue.entries()])
