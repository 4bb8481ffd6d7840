"""What the members of card events mean, where no action has them, or they mean something else there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.openapi.cards.made_up import ACCOUNT_ID, HOLDER_ID, TRANSACTION_ID

EVENTS: Mapping[str, tuple[str, Any]] = {
    "CardCreatedEvent.account_id": ("The card's primary account", ACCOUNT_ID),
    "CardCreatedEvent.virtual": ("Whether the card is virtual", 1),
    "reissued": ("Whether the card was there before: reissueCard has made it anew", 0),
    "CardCreatedEvent.card_status": ("The card's status; it waits for its activation", "N"),
    "CardActivatedEvent.card_status": ("The card's status", "A"),
    "card_status_before": ("The status that the card had", "A"),
    "CardStatusEvent.card_status": ("The status that it has now", "L"),
    "CardStatusEvent.reason_code": ("Why, if that was said", 4),
    "CardAuthorizationEvent.account_id": ("The account; left out when none was found", ACCOUNT_ID),
    "notify_cardholder": ("Whether a risk rule wants the cardholder to be told", 0),
    "CardClearingEvent.transaction_id": ("The account's transaction", TRANSACTION_ID),
    "program_id_before": ("The programme that it had", 501),
    "AccountProgramEvent.program_id": ("The programme that it has now", 502),
    "replaced_groups": (
        "The groups that were replaced; empty, if it kept all of them",
        [{"group": "fee_group_id", "id_before": 302, "id": 303}],
    ),
    "group": ("Which group it is, as the account's record names it", "fee_group_id"),
    "id_before": ("The group that it had; left out where it had none", 302),
    "ReplacedGroup.id": ("The group that it has now", 303),
    "kind": ("What it is", "in"),
    "ExternalPaymentEvent.state": ("The state that it has now", "S"),
    "ExternalPaymentEvent.reason": ("Why it was rejected, or sent back", None),
    "ExternalPaymentEvent.account_id": ("The account, of a holder or a special one", ACCOUNT_ID),
    "ExternalPaymentEvent.account_type": ("Whose account it is", 1),
    "ExternalPaymentEvent.card_id": ("The card of the address, if it has one", None),
    "ExternalPaymentEvent.holder_id": ("The holder; left out for a special account", HOLDER_ID),
    "ExternalPaymentEvent.settlement_amount": (
        "What that comes to on the account, in minor units; left out as long as it is not known",
        2599,
    ),
    "ExternalPaymentEvent.description": (
        "The remittance information: the reference of a payment in or a collection, the description of a payment out",
        "Invoice 2041",
    ),
    "ExternalPaymentEvent.counterparty_name": ("Who has paid, is paid, or collects", "Meadow Ltd"),
    "ExternalPaymentEvent.scheme": ("How it travels; left out for a direct debit", "SCT"),
    "ExternalPaymentEvent.transaction_id": ("The account's transaction, once it is booked", TRANSACTION_ID),
    "return_transaction_id": ("The transaction that gave back what had gone out", None),
    "ExternalPaymentEvent.trans_link": ("Names its transactions, and those of its return", "E00100000090"),
    "ExternalPaymentEvent.returned_epm_transaction_id": ("Of a return: the payment that it sends back", None),
    "ExternalPaymentEvent.epm_mandate_id": ("Of a direct debit: the mandate", None),
    "ExternalPaymentEvent.cut_off": ("Of a direct debit: when it is paid or rejected, in Unix seconds", None),
    "MandateEvent.state": ("The state that it has now", "A"),
    "MandateEvent.reference": ("The creditor's reference", "MEMBER-1042"),
    "ThreeDSecureEvent.auth_request_id": ("What authenticationConfirm answers", 100000066),
    "ThreeDSecureEvent.validation_value": (
        "The value that you send the cardholder, encrypted for you; left out unless the operator has set that you do",
        None,
    ),
}
