"""The folder for the card API: at least one request for each action, in executable order.

Ids in responses are stored in collection variables for later requests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from infra.postman.request import Json, PostmanRequest
from infra.render.openapi.cards import examples
from infra.render.openapi.cards.schemas import name_of

_OF_NEW_HOLDER = ("holder_", "kyc_")
_CREDENTIAL = ("access_key", "access_api_id", "access_api_key")
_WRONG_PIN = {"pin": "9753"}
_IDS = ("holder_id", "account_id", "card_id", "epm_address_id", "epm_transaction_id")


@dataclass(frozen=True, slots=True)
class Step:
    """One request.

    Attributes:
        action: the name of the action.
        members: added to the members of the example, or replacing them.
        without: prefixes of example members to omit.
        kept: the variables to set from the response, each with the path to its value.
        name: the request's name, if not the action's.
    """

    action: str
    members: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    kept: Mapping[str, str] = field(default_factory=dict)
    name: str = ""


def _var(name: str) -> str:
    return f"{{{{{name}}}}}"


_HOLDER, _ACCOUNT, _CARD, _ADDRESS, _PAYMENT = ({name: _var(name)} for name in _IDS)
_NEW_CARD = {"card_request_id": "data.card_request_id", "cvc2": "data.cvc2"}
_EXPIRY = {"expiry_year": "data.expiration.year", "expiry_month": "data.expiration.month"}
_CHECKED = {
    "card_request_id": _var("card_request_id"),
    "card_cvc2": _var("cvc2"),
    "card_expiration_year": _var("expiry_year"),
    "card_expiration_month": _var("expiry_month"),
}
_RECORD = {"record_id": _var("account_id")}
_SENT, _CAME = {"epm_transaction_id": "data.id"}, {"epm_transaction_id": "data.epm_transaction_id"}
_MANDATE = {"epm_mandate_id": _var("epm_mandate_id")}
_IN_POUNDS = {"epm_method_id": 1, "currency_ison": 826, "country_ison": 826}
_DIRECT_CREDIT = {"currency_ison": 826, "scheme": "BACS"}

_MONEY = (
    Step("assignExternalPaymentAddress", _ACCOUNT, kept={"epm_address_id": "data[0].id"}),
    Step("getExternalPaymentAddress", _ADDRESS),
    Step("getAccountExternalPaymentAddresses", _ACCOUNT),
    Step("simulateInboundPayment", _ADDRESS, kept=_CAME),
    Step("transferToExternalPayment", _ADDRESS, kept=_SENT),
    Step("getAccounts", _ACCOUNT, name="getAccounts: the transfer is held"),
    Step("simulateOutboundResult", _PAYMENT),
    Step("getLimits", _RECORD),
    Step("getLimitsStatus", _RECORD),
    Step("simulateInboundPayment", _ADDRESS, kept=_CAME, name="simulateInboundPayment: to be returned"),
    Step("inboundReturn", _PAYMENT),
    Step("simulateMandate", _ADDRESS, kept={"epm_mandate_id": "data.epm_mandate_id"}),
    Step("simulateDirectDebit", _MANDATE, kept=_CAME),
    Step("changeDDExternalPaymentStatus", _PAYMENT | {"should_pay": 1}),
    Step(
        "simulateDirectDebit",
        _PAYMENT,
        ("epm_mandate_id", "amount"),
        name="simulateDirectDebit: paid at the cut-off time",
    ),
    Step("directDebitReturn", {"returned_epm_transaction_id": _var("epm_transaction_id")}),
    Step("cancelExternalPaymentMandate", _MANDATE),
    Step(
        "assignExternalPaymentAddress",
        _ACCOUNT | _IN_POUNDS,
        kept={"epm_address_id": "data[0].id"},
        name="assignExternalPaymentAddress: in the United Kingdom",
    ),
    Step("simulateInboundPayment", _ADDRESS | _DIRECT_CREDIT, kept=_CAME, name="simulateInboundPayment: by Bacs"),
    Step("directCreditReturn", _PAYMENT),
    Step("changeExternalPaymentAddressStatus", _ADDRESS),
    Step("assignExternalPaymentAddressForSpecialAccount"),
    Step("createCustomFee", _ACCOUNT),
    Step("getFeesGroups"),
    Step("getLimitsGroups"),
)
_TRANS_LINK = {"trans_link": _var("trans_link")}
_TRANSACTION = {"transaction_id": _var("transaction_id")}
_LINKED = {"trans_link": "data.trans_link"}
_ALWAYS = {"date_from": 0, "date_to": 99999999999}
_PART = {"amount": 500}

_NETWORK = (
    Step(
        "assignExternalPaymentAddress",
        _ACCOUNT,
        kept={"epm_address_id": "data[0].id"},
        name="assignExternalPaymentAddress: for the card's account",
    ),
    Step("simulateInboundPayment", _ADDRESS, name="simulateInboundPayment: to the card's account"),
    Step("simulateAuthorization", _CARD, kept=_LINKED, name="simulateAuthorization: a purchase"),
    Step("simulateIncrement", _TRANS_LINK),
    Step("simulateReversal", _TRANS_LINK | _PART),
    Step("simulateClearing", _TRANS_LINK, kept={"transaction_id": "data.transaction_id"}),
    Step("simulateRefund", _TRANS_LINK),
    Step("simulateDispute", _TRANSACTION | _PART),
    Step("simulateDispute", _TRANSACTION | {"step": "won"}, name="simulateDispute: the holder wins"),
    Step("simulateAuthorization", _CARD, kept=_LINKED, name="simulateAuthorization: never cleared"),
    Step("simulateExpiry", _TRANS_LINK),
    Step("simulateAdvice", _CARD),
    Step("simulateAddendum", _TRANSACTION),
    Step("getCardsActivity", _CARD | _ALWAYS),
    Step("getFinancialAuthorizes", _CARD | _ALWAYS),
    Step("getTransactions", _CARD | _ALWAYS),
    Step(
        "getFinancialDetailAddendums",
        _TRANSACTION | {f"date_imported_{name.removeprefix('date_')}": value for name, value in _ALWAYS.items()},
    ),
)
STEPS = (
    Step("createHolder", kept={"holder_id": "id"}),
    Step("updateHolder", _HOLDER),
    Step("getHolder", _HOLDER),
    Step("createAccount", _HOLDER, _OF_NEW_HOLDER, {"account_id": "data.id"}),
    Step("getAccounts", _ACCOUNT),
    Step("getHolderAccounts", _HOLDER),
    Step("assignAccountToRiskRuleGroup", _ACCOUNT),
    Step("assignAccountToLimitRuleGroup", _ACCOUNT),
    Step("assignAccountToFeeRuleGroup", _ACCOUNT),
    *_MONEY,
    Step("changeAccountProgramId", _ACCOUNT),
    Step("changeAccountStatus", _ACCOUNT),
    Step("getDesign"),
    Step(
        "createCard",
        _HOLDER,
        _OF_NEW_HOLDER,
        {"card_id": "data.card_id", "account_id": "data.account_id", **_NEW_CARD, **_EXPIRY},
    ),
    Step("activateCard", _CARD | _CHECKED),
    Step("getCardDetails", _CARD),
    Step("getCardNumber", _CARD),
    Step("getCvc2", _CARD),
    Step("getPin", _CARD),
    Step("getCardAcsPassword", _CARD),
    Step("setPin", _CARD),
    Step("changeCardAcsPassword", _CARD),
    Step("changeCardSchemeAccountUpdatesStatus", _CARD),
    Step("getCardFees", _CARD),
    Step("assignCardToFeesGroup", _CARD),
    Step("assignCardToLimitsGroup", _CARD),
    Step("assignCardToUsageGroup", _CARD),
    Step("assignCardToRiskRuleGroup", _CARD),
    Step("simulateAuthorization", _CARD | _WRONG_PIN, name="simulateAuthorization: first incorrect PIN"),
    Step("simulateAuthorization", _CARD | _WRONG_PIN, name="simulateAuthorization: second incorrect PIN"),
    Step(
        "simulateAuthorization",
        _CARD | _WRONG_PIN,
        name="simulateAuthorization: third incorrect PIN, which blocks the PIN",
    ),
    Step("unblockPin", _CARD),
    *_NETWORK,
    Step(
        "simulateAuthentication",
        _CARD,
        kept={"auth_request_id": "data.auth_request_id", "validation_value": "data.validation_value"},
    ),
    Step(
        "authenticationConfirm",
        {"auth_request_id": _var("auth_request_id"), "validation_value": _var("validation_value")},
    ),
    Step("createCardAcsMerchantWhitelistRule", _CARD | {"rule_code": _var("$guid")}),
    Step("changeCardStatus", _CARD),
    Step("getCardStatus", _CARD),
    Step("reissueCard", _CARD, kept=_NEW_CARD | _EXPIRY),
    Step("activateCard", _CARD | _CHECKED, name="activateCard: after the reissue"),
)


def requests(document: Json) -> Iterator[PostmanRequest]:
    """The requests in the folder."""
    for step in STEPS:
        yield _request(document, step)


def _request(document: Json, step: Step) -> PostmanRequest:
    action = ACTIONS.get(step.action) or SIMULATOR_ACTIONS[step.action]
    described = document["components"]["schemas"][name_of(action, "Request")]["description"]
    operation = {"summary": step.action, "description": described, "responses": {"200": {}}}
    body = {name: value for name, value in examples.request(action).items() if not name.startswith(step.without)}
    body |= {name: _var(name) for name in _CREDENTIAL} | {"request_reference_id": _var("$guid"), **step.members}
    return PostmanRequest(
        operation,
        "POST",
        "/api" if step.action in ACTIONS else "/simulator",
        {"Content-Type": "application/json"},
        {},
        body=json.dumps(body, indent=2, ensure_ascii=False),
        name=step.name,
        script=tuple(_script(step.kept)),
    )


def _script(kept: Mapping[str, str]) -> Iterator[str]:
    yield 'pm.test("the action succeeds", () => pm.expect(pm.response.json().status).to.eql("success"));'
    for name, way in kept.items():
        yield f'pm.collectionVariables.set("{name}", pm.response.json().{way});'
