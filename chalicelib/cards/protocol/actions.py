"""The table of actions: one row is one action of the interface, and everything else is derived from it.

A row's ``flow`` and name say who carries it out: ``createCard`` of the flow ``cards`` is its method ``create_card``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from chalicelib.cards.protocol import account_messages as accounts
from chalicelib.cards.protocol import card_messages as cards
from chalicelib.cards.protocol import card_records as records
from chalicelib.cards.protocol import holder_messages as holders
from chalicelib.cards.protocol import money_messages as money
from chalicelib.cards.protocol import payment_messages as payments
from chalicelib.cards.protocol import payment_simulator_messages as outside
from chalicelib.cards.protocol import simulator_messages as simulator
from chalicelib.cards.protocol.card_fields import CardField
from chalicelib.cards.protocol.message import Answer, Request

Effect = Literal["read", "write", "reveal"]
Shape = Literal["object", "list", "empty", "empty object", "id"]
Flow = Literal[
    "accounts",
    "acs",
    "addresses",
    "card_data",
    "cards",
    "debits",
    "fees",
    "holders",
    "issuing",
    "limits",
    "outside",
    "reissuing",
    "returns",
    "simulator",
    "transfers",
]


_WORD_END = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    Attributes:
        name: as the body's ``action`` names it.
        flow: who carries it out.
        effect: a read changes nothing; a reveal is a read of one card datum, which a repeat runs again.
        request: the model of its fields.
        answer: the model of ``data``, or of an entry of it; ``None`` when it is empty.
        shape: ``data`` is an object, a list, ``[]``, ``{}``, or ``[]`` with the ``id`` beside it.
        summary: what it does, in a line.
        field: the one card datum that a reveal shows.
        seals: whether the answer holds card data, which repeats are told for a day only.
        creates: whether ``access_level`` is that of the record which the action makes.
    """

    name: str
    flow: Flow
    effect: Effect
    request: type[Request]
    answer: type[Answer] | None
    shape: Shape
    summary: str
    field: CardField | None = None
    seals: bool = False
    creates: bool = False

    @property
    def empty(self) -> list[Any] | dict[str, Any]:
        """What ``data`` is when there is none."""
        return {} if self.shape in ("object", "empty object") else []

    @property
    def paged(self) -> bool:
        """Whether a ``paginator`` stands beside the data, as it does in the request."""
        return "paginator" in self.request.model_fields

    @property
    def method(self) -> str:
        return _WORD_END.sub("_", self.name).lower()


def _read(name: str, flow: Flow, request: type[Request], answer: type[Answer], shape: Shape, summary: str) -> Action:
    return Action(name, flow, "read", request, answer, shape, summary)


def _reveal(name: str, field: CardField, answer: type[Answer], summary: str) -> Action:
    return Action(name, "card_data", "reveal", cards.OfCard, answer, "object", summary, field)


def _write(name: str, flow: Flow, request: type[Request], summary: str, shape: Shape = "empty") -> Action:
    return Action(name, flow, "write", request, None, shape, summary)


_ROWS = (
    # Accounts
    Action(
        "createAccount",
        "accounts",
        "write",
        accounts.CreateAccount,
        accounts.CreatedAccount,
        "object",
        "Open an account for a new or an existing holder",
        creates=True,
    ),
    _write("changeAccountStatus", "accounts", accounts.ChangeAccountStatus, "Change an account's status"),
    _write("changeAccountProgramId", "accounts", accounts.ChangeAccountProgramId, "Move an account to a programme"),
    _read(
        "getAccounts", "accounts", accounts.GetAccounts, accounts.AccountRecord, "list", "Show an account, or a card's"
    ),
    _write(
        "assignAccountToRiskRuleGroup",
        "accounts",
        accounts.AssignAccountToRiskRuleGroup,
        "Give an account another risk rule group",
    ),
    _write(
        "assignAccountToLimitRuleGroup",
        "accounts",
        accounts.AssignAccountToLimitRuleGroup,
        "Give an account another limit group",
    ),
    _write(
        "assignAccountToFeeRuleGroup",
        "accounts",
        accounts.AssignAccountToFeeRuleGroup,
        "Give an account another fee group",
    ),
    # Cards
    _write("activateCard", "cards", cards.ActivateCard, "Activate a card"),
    _write("assignCardToFeesGroup", "cards", cards.AssignCardToFeesGroup, "Give a card another fee group"),
    _write("assignCardToLimitsGroup", "cards", cards.AssignCardToLimitsGroup, "Give a card another limit group"),
    _write("assignCardToUsageGroup", "cards", cards.AssignCardToUsageGroup, "Give a card another usage group"),
    _write(
        "assignCardToRiskRuleGroup", "cards", cards.AssignCardToRiskRuleGroup, "Give a card another risk rule group"
    ),
    _write(
        "changeCardSchemeAccountUpdatesStatus",
        "cards",
        cards.ChangeCardSchemeAccountUpdatesStatus,
        "Have a card take part in the scheme's account updates, or not",
    ),
    _write("changeCardStatus", "cards", cards.ChangeCardStatus, "Change a card's status"),
    Action(
        "createCard",
        "issuing",
        "write",
        cards.CreateCard,
        records.CreatedCard,
        "object",
        "Make a virtual or physical card",
        seals=True,
        creates=True,
    ),
    _reveal("getCvc2", "cvc2", records.Cvc2, "Reveal a card's CVC2"),
    _read("getCardDetails", "cards", cards.OfCard, records.CardDetails, "object", "Show a card"),
    _reveal("getCardNumber", "pan", records.CardNumber, "Reveal a card's number"),
    _reveal("getPin", "pin", records.Pin, "Reveal a card's PIN"),
    _read("getCardStatus", "cards", cards.OfCard, records.CardStatusAnswer, "object", "Show a card's status"),
    Action(
        "reissueCard",
        "reissuing",
        "write",
        cards.ReissueCard,
        records.ReissuedCard,
        "object",
        "Issue a card anew, with its number and PIN or new ones",
        seals=True,
    ),
    _write("setPin", "cards", cards.SetPin, "Set a card's PIN"),
    _write("unblockPin", "cards", cards.OfCard, "Unblock a card's PIN"),
    _read("getDesign", "cards", cards.GetDesign, records.Design, "list", "List a programme's card designs"),
    _reveal("getCardAcsPassword", "acs_password", records.AcsPassword, "Reveal a card's password of 3-D Secure"),
    _write("changeCardAcsPassword", "cards", cards.ChangeCardAcsPassword, "Change a card's password of 3-D Secure"),
    Action(
        "createCardAcsMerchantWhitelistRule",
        "acs",
        "write",
        cards.CreateCardAcsMerchantWhitelistRule,
        records.WhitelistRule,
        "object",
        "Tell where 3-D Secure asks the cardholder nothing",
    ),
    _write(
        "authenticationConfirm", "acs", cards.AuthenticationConfirm, "Answer a request of 3-D Secure", "empty object"
    ),
    # Holders
    _read("getHolder", "holders", holders.GetHolder, holders.HolderRecord, "object", "Show a holder"),
    _read(
        "getHolderAccounts",
        "holders",
        holders.GetHolderAccounts,
        accounts.HolderAccountRecord,
        "list",
        "List a holder's accounts",
    ),
    Action("createHolder", "holders", "write", holders.CreateHolder, None, "id", "Register a holder", creates=True),
    _write("updateHolder", "holders", holders.UpdateHolder, "Change what is known of a holder", "id"),
    # External payments
    Action(
        "assignExternalPaymentAddress",
        "addresses",
        "write",
        payments.AssignExternalPaymentAddress,
        payments.AddressRecord,
        "list",
        "Open bank-account details that lead to an account",
        creates=True,
    ),
    Action(
        "assignExternalPaymentAddressForSpecialAccount",
        "addresses",
        "write",
        payments.AssignExternalPaymentAddressForSpecialAccount,
        payments.AddressRecord,
        "list",
        "Open bank-account details that lead to a special account",
        creates=True,
    ),
    _write(
        "cancelExternalPaymentMandate", "debits", payments.CancelExternalPaymentMandate, "Cancel a direct debit mandate"
    ),
    _write(
        "changeDDExternalPaymentStatus",
        "debits",
        payments.ChangeDDExternalPaymentStatus,
        "Say whether a direct debit is to be paid",
    ),
    _read(
        "getExternalPaymentAddress",
        "addresses",
        payments.GetExternalPaymentAddress,
        payments.AddressWithStatus,
        "object",
        "Show an external payment address",
    ),
    _read(
        "getAccountExternalPaymentAddresses",
        "addresses",
        payments.GetAccountExternalPaymentAddresses,
        payments.AddressRecord,
        "list",
        "List an account's external payment addresses",
    ),
    _write(
        "changeExternalPaymentAddressStatus",
        "addresses",
        payments.ChangeExternalPaymentAddressStatus,
        "Change an external payment address's status",
    ),
    Action(
        "transferToExternalPayment",
        "transfers",
        "write",
        payments.TransferToExternalPayment,
        payments.TransferWithDestination,
        "object",
        "Pay to another bank account",
    ),
    Action(
        "inboundReturn",
        "returns",
        "write",
        payments.InboundReturn,
        payments.TransferRecord,
        "object",
        "Send back a payment that came in",
    ),
    _write("directDebitReturn", "returns", payments.DirectDebitReturn, "Take back a direct debit that was paid"),
    _write("directCreditReturn", "returns", payments.DirectCreditReturn, "Send back a direct credit that came in"),
    # Fees and limits
    Action(
        "createCustomFee",
        "fees",
        "write",
        money.CreateCustomFee,
        money.CustomFee,
        "object",
        "Take a fee from an account",
    ),
    _read(
        "getCardFees", "fees", money.GetCardFees, money.FeeEntryRecord, "list", "List the fees of a card's fee group"
    ),
    _read("getFeesGroups", "fees", money.GetFeesGroups, money.NamedGroup, "list", "List fee groups"),
    _read(
        "getLimits",
        "limits",
        money.GetLimits,
        money.LimitEntryRecord,
        "list",
        "List the limits of a card, account or holder",
    ),
    _read("getLimitsGroups", "limits", money.GetLimitsGroups, money.NamedGroup, "list", "List limit groups"),
    _read(
        "getLimitsStatus",
        "limits",
        money.GetLimitsStatus,
        money.LimitStatusRecord,
        "list",
        "Show what is left of the limits of a card, account or holder",
    ),
)

_SIMULATED = (
    Action(
        "simulateAuthentication",
        "simulator",
        "write",
        simulator.SimulateAuthentication,
        simulator.Authentication,
        "object",
        "Have an online shop ask for 3-D Secure",
    ),
    Action(
        "simulateAuthorization",
        "simulator",
        "write",
        simulator.SimulateAuthorization,
        simulator.Authorization,
        "object",
        "Have the network ask whether a card may be used",
    ),
    Action(
        "simulateInboundPayment",
        "outside",
        "write",
        outside.SimulateInboundPayment,
        outside.InboundPayment,
        "object",
        "Have another bank pay to an address",
    ),
    Action(
        "simulateMandate",
        "outside",
        "write",
        outside.SimulateMandate,
        outside.NewMandate,
        "object",
        "Have a creditor get a direct debit mandate",
    ),
    Action(
        "simulateDirectDebit",
        "outside",
        "write",
        outside.SimulateDirectDebit,
        outside.Collection,
        "object",
        "Have a creditor collect, or the cut-off of a collection pass",
    ),
    Action(
        "simulateOutboundResult",
        "outside",
        "write",
        outside.SimulateOutboundResult,
        outside.OutboundResult,
        "object",
        "Have the provider report what became of a payment out",
    ),
)

ACTIONS = {row.name: row for row in _ROWS}
"""``POST /api``."""
SIMULATED = {row.name: row for row in _SIMULATED}
"""``POST /simulator``, outside prod."""
