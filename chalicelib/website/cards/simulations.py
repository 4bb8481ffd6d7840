"""The forms of the card simulator, declared as data: the fields of each action.

The choices of a field are fixed values, or existing records of the card, for example held authorizations. The field's
``offer`` is the kind of these records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from chalicelib.cards.protocol import values
from chalicelib.cards.protocol.schemes import METHODS, SEPA
from chalicelib.cards.protocol.states import DISPUTE_OPENED, DISPUTE_STEPS
from chalicelib.foundation.lazy_dataclasses import dataclass

Kind = Literal["amount", "choice", "country", "offer", "text", "secret", "check"]
Offer = Literal["currencies", "accounts", "held", "known", "cleared", "collected", "addresses"]
Choices = Mapping[str, str]
"""The labels of choices, by value."""


@dataclass(frozen=True, slots=True)
class FormField:
    """A form field: the name of its request member, and its label.

    An empty ``optional`` field is not sent. The page never shows a submitted secret again. Without a default, the first
    offer is selected. ``digits`` is the length of a secret.
    """

    name: str
    label: str
    kind: Kind = "text"
    default: str | None = ""
    choices: Choices = field(default_factory=dict)
    offer: Offer | None = None
    optional: bool = False
    hint: str = ""
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Simulation:
    """A form of the simulator.

    Attributes:
        is_of_card: whether the request contains the card's id. A request with an authorization's id does not contain
            the card's id.
        otherwise: the text that is displayed if no record exists to which the action can apply.
    """

    action: str
    title: str
    button: str
    fields: tuple[FormField, ...] = ()
    is_of_card: bool = False
    otherwise: str = ""

    @property
    def needs(self) -> Offer | None:
        return next((each.offer for each in self.fields if each.offer and not each.optional), None)


def _numbered_choices(meanings: Mapping[int, str]) -> Choices:
    return {str(number): meaning for number, meaning in meanings.items()}


_MERCHANTS: Choices = {
    "5411": "Groceries (5411)",
    "5812": "Restaurant (5812)",
    "4511": "Airline (4511)",
    "5732": "Electronics (5732)",
    "6011": "Cash machine (6011)",
    "7995": "Gambling (7995)",
}
_COUNTRIES: Choices = {
    "276": "Germany",
    "372": "Ireland",
    "392": "Japan",
    "826": "United Kingdom",
    "840": "United States",
}
_STEPS: Choices = {step: f"{step}: {meaning}" for step, meaning in DISPUTE_STEPS.items()}
_CODES: Choices = {code: f"{code}: {meaning}" for code, meaning in values.RESPONSE_CODES.items()}

_AMOUNT = FormField("amount", "Amount", "amount", "25.00")
_CURRENCY = FormField("currency_ison", "Currency", "offer", offer="currencies")
_SHOP = (
    FormField("merchant_name", "Merchant", "text", "Corner Shop"),
    FormField("mcc", "Kind of merchant", "choice", "5411", _MERCHANTS),
    FormField("merchant_country_ison", "Country", "choice", "276", _COUNTRIES),
)
_USE = (
    _AMOUNT,
    _CURRENCY,
    FormField("transaction_type", "Purpose", "choice", "0", _numbered_choices(values.CARD_TRANSACTION_TYPES)),
    FormField("entry_mode_type", "Entry mode", "choice", "5", _numbered_choices(values.ENTRY_MODES)),
    *_SHOP,
)
_HELD = FormField("trans_link", "Authorization", "offer", offer="held")
_KNOWN = FormField("trans_link", "Authorization", "offer", None, offer="known", optional=True)
_CLEARED = FormField("trans_link", "Authorization", "offer", None, offer="cleared", optional=True)
_AS_BEFORE = FormField("merchant_name", "Merchant", optional=True, hint="If empty: as authorized")
_PART = FormField("amount", "Amount", "amount", "", optional=True, hint="If empty: the whole amount")
_BACK = FormField("amount", "Amount", "amount", "", hint="With an authorization, at most the collected amount")
_DECIDES = "If empty, the service decides"
_NOTHING_HELD = "No authorization is waiting for its clearing."

SIMULATIONS: tuple[Simulation, ...] = (
    Simulation(
        "simulateAuthorization",
        "Authorization: a shop requests approval",
        "Request",
        (
            *_USE,
            FormField("pin", "PIN", "secret", optional=True, digits=4),
            FormField("cvc2", "CVC2", "secret", optional=True, digits=3),
            FormField(
                "eci_indicator", "3-D Secure", "choice", choices=_numbered_choices(values.ECI_INDICATORS), optional=True
            ),
            FormField("force_response_code", "Answer", "choice", choices=_CODES, optional=True, hint=_DECIDES),
            FormField("partial_approval", "The shop accepts partial approval", "check", optional=True),
        ),
        is_of_card=True,
    ),
    Simulation(
        "simulateAdvice",
        "Advice: the network decided",
        "Send",
        (*_USE, FormField("response_code", "Decision", "choice", values.APPROVED, _CODES)),
        is_of_card=True,
    ),
    Simulation(
        "simulateIncrement",
        "Increment: the shop requests more",
        "Request more",
        (_HELD, FormField("amount", "Additional amount", "amount", "5.00")),
        otherwise=_NOTHING_HELD,
    ),
    Simulation("simulateReversal", "Reversal: the shop cancels", "Cancel", (_HELD, _PART), otherwise=_NOTHING_HELD),
    Simulation("simulateExpiry", "Expiry: a hold expires", "End the hold", (_HELD,), otherwise=_NOTHING_HELD),
    Simulation(
        "simulateClearing",
        "Clearing: the shop collects",
        "Collect",
        (_KNOWN, _AMOUNT, _CURRENCY, FormField("final", "Final clearing", "check", "yes"), _AS_BEFORE),
        is_of_card=True,
    ),
    Simulation(
        "simulateRefund",
        "Refund: the shop returns money",
        "Refund",
        (_CLEARED, _BACK, _CURRENCY, _AS_BEFORE),
        is_of_card=True,
    ),
    Simulation(
        "simulateDispute",
        "Dispute: the holder reclaims money",
        "Apply",
        (
            FormField("transaction_id", "Transaction", "offer", offer="collected"),
            FormField("step", "Step", "choice", DISPUTE_OPENED, _STEPS),
            _PART,
        ),
        otherwise="No shop has collected money yet.",
    ),
    Simulation(
        "simulateAuthentication",
        "3-D Secure: an online shop requests authentication",
        "Request",
        (_AMOUNT, _CURRENCY, *_SHOP),
        is_of_card=True,
    ),
    Simulation(
        "assignExternalPaymentAddress",
        "Bank details: open them for an account",
        "Open",
        (
            FormField("account_id", "Account", "offer", offer="accounts"),
            FormField("epm_method_id", "Method", "choice", str(SEPA), _numbered_choices(METHODS)),
        ),
    ),
    Simulation(
        "simulateInboundPayment",
        "Inbound payment: another bank sends money",
        "Send",
        (
            FormField("epm_address_id", "To", "offer", offer="addresses"),
            FormField("amount", "Amount", "amount", "500.00"),
            FormField("sender_name", "Sender", "text", "Ada Lovelace"),
            FormField("reference", "Reference", "text", "Top-up"),
        ),
        otherwise="The card's accounts have no bank details yet: open them first.",
    ),
)
BY_ACTION = {each.action: each for each in SIMULATIONS}
