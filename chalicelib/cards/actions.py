"""The tables of actions: a row is one action, called after the function that carries it out.

Requests, answers, documents and tests are derived from them.
"""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.cards.authorization.authorization_flow import AuthorizationFlow
from chalicelib.cards.authorization.clearing_flow import ClearingFlow
from chalicelib.cards.authorization.dispute_flow import DisputeFlow
from chalicelib.cards.authorization.hold_release import HoldRelease
from chalicelib.cards.issuing.account_flow import AccountFlow
from chalicelib.cards.issuing.card_creation_flow import CardCreationFlow
from chalicelib.cards.issuing.card_flow import CardFlow
from chalicelib.cards.issuing.card_reissue_flow import CardReissueFlow
from chalicelib.cards.issuing.holder_flow import HolderFlow
from chalicelib.cards.ledger.fee_flow import FeeFlow
from chalicelib.cards.ledger.limit_flow import LimitFlow
from chalicelib.cards.payments.address_flow import AddressFlow
from chalicelib.cards.payments.direct_debits import DirectDebits
from chalicelib.cards.payments.return_flow import ReturnFlow
from chalicelib.cards.payments.simulator_flow import PaymentSimulatorFlow
from chalicelib.cards.payments.transfer_flow import TransferFlow
from chalicelib.cards.portal.portal_flow import PortalFlow
from chalicelib.cards.reports.report_flow import ReportFlow
from chalicelib.cards.requests.action import Action
from chalicelib.cards.three_ds.acs_flow import AcsFlow

_ROWS = (
    # Accounts
    Action(AccountFlow.create_account, "Open an account for a new or an existing holder", creates=True),
    Action(AccountFlow.change_account_status, "Change an account's status"),
    Action(AccountFlow.change_account_program_id, "Move an account to a programme"),
    Action(AccountFlow.get_accounts, "Show an account, or a card's", effect="read"),
    Action(AccountFlow.assign_account_to_risk_rule_group, "Give an account another risk rule group"),
    Action(AccountFlow.assign_account_to_limit_rule_group, "Give an account another limit group"),
    Action(AccountFlow.assign_account_to_fee_rule_group, "Give an account another fee group"),
    # Cards
    Action(CardFlow.activate_card, "Activate a card"),
    Action(CardFlow.assign_card_to_fees_group, "Give a card another fee group"),
    Action(CardFlow.assign_card_to_limits_group, "Give a card another limit group"),
    Action(CardFlow.assign_card_to_usage_group, "Give a card another usage group"),
    Action(CardFlow.assign_card_to_risk_rule_group, "Give a card another risk rule group"),
    Action(
        CardFlow.change_card_scheme_account_updates_status,
        "Have a card take part in the scheme's account updates, or not",
    ),
    Action(CardFlow.change_card_status, "Change a card's status"),
    Action(CardCreationFlow.create_card, "Make a virtual or physical card", seals=True, creates=True),
    Action(CardFlow.get_cvc2, "Reveal a card's CVC2", effect="reveal", field="cvc2"),
    Action(CardFlow.get_card_details, "Show a card", effect="read"),
    Action(CardFlow.get_card_number, "Reveal a card's number", effect="reveal", field="pan"),
    Action(CardFlow.get_pin, "Reveal a card's PIN", effect="reveal", field="pin"),
    Action(CardFlow.get_card_status, "Show a card's status", effect="read"),
    Action(CardReissueFlow.reissue_card, "Issue a card anew, with its number and PIN or new ones", seals=True),
    Action(CardFlow.set_pin, "Set a card's PIN"),
    Action(CardFlow.unblock_pin, "Unblock a card's PIN"),
    Action(CardFlow.get_design, "List a programme's card designs", effect="read"),
    Action(
        CardFlow.get_card_acs_password, "Reveal a card's password of 3-D Secure", effect="reveal", field="acs_password"
    ),
    Action(CardFlow.change_card_acs_password, "Change a card's password of 3-D Secure"),
    Action(AcsFlow.create_card_acs_merchant_whitelist_rule, "Tell where 3-D Secure asks the cardholder nothing"),
    Action(AcsFlow.authentication_confirm, "Answer a request of 3-D Secure"),
    # Holders
    Action(HolderFlow.get_holder, "Show a holder", effect="read"),
    Action(HolderFlow.get_holder_accounts, "List a holder's accounts", effect="read"),
    Action(HolderFlow.create_holder, "Register a holder", creates=True, answers_id=True),
    Action(HolderFlow.update_holder, "Change what is known of a holder", answers_id=True),
    # External payments
    Action(
        AddressFlow.assign_external_payment_address, "Open bank-account details that lead to an account", creates=True
    ),
    Action(
        AddressFlow.assign_external_payment_address_for_special_account,
        "Open bank-account details that lead to a special account",
        creates=True,
    ),
    Action(DirectDebits.cancel_external_payment_mandate, "Cancel a direct debit mandate"),
    Action(
        DirectDebits.change_dd_external_payment_status,
        "Say whether a direct debit is to be paid",
        spelling="changeDDExternalPaymentStatus",
    ),
    Action(AddressFlow.get_external_payment_address, "Show an external payment address", effect="read"),
    Action(
        AddressFlow.get_account_external_payment_addresses,
        "List an account's external payment addresses",
        effect="read",
    ),
    Action(AddressFlow.change_external_payment_address_status, "Change an external payment address's status"),
    Action(TransferFlow.transfer_to_external_payment, "Pay to another bank account"),
    Action(ReturnFlow.inbound_return, "Send back a payment that came in"),
    Action(ReturnFlow.direct_debit_return, "Take back a direct debit that was paid"),
    Action(ReturnFlow.direct_credit_return, "Send back a direct credit that came in"),
    # Fees and limits
    Action(FeeFlow.create_custom_fee, "Take a fee from an account"),
    Action(FeeFlow.get_card_fees, "List the fees of a card's fee group", effect="read"),
    Action(FeeFlow.get_fees_groups, "List fee groups", effect="read"),
    Action(LimitFlow.get_limits, "List the limits of a card, account or holder", effect="read"),
    Action(LimitFlow.get_limits_groups, "List limit groups", effect="read"),
    Action(LimitFlow.get_limits_status, "Show what is left of the limits of a card, account or holder", effect="read"),
    # Reports
    Action(
        ReportFlow.get_cards_activity, "List what the network asked about a card, or about all cards", effect="read"
    ),
    Action(ReportFlow.get_financial_authorizes, "List the authorizations of a card", effect="read"),
    Action(ReportFlow.get_transactions, "List the transactions of a card or an account", effect="read"),
    Action(
        ReportFlow.get_financial_detail_addendums,
        "List what the network has told of transactions afterwards",
        effect="read",
    ),
)
ACTIONS: Mapping[str, Action] = {row.name: row for row in _ROWS}
"""``POST /api``."""

_SIMULATOR_ROWS = (
    Action(AcsFlow.simulate_authentication, "Have an online shop ask for 3-D Secure"),
    Action(
        AuthorizationFlow.simulate_authorization,
        "Have the network ask whether a card may be used",
        patience=2,
        late=AuthorizationFlow.decline_late,
    ),
    Action(AuthorizationFlow.simulate_advice, "Have the network tell what it decided in the issuer's place"),
    Action(AuthorizationFlow.simulate_increment, "Have a shop ask for more on an authorization"),
    Action(HoldRelease.simulate_reversal, "Have a shop give up an authorization, or a part of it"),
    Action(HoldRelease.simulate_expiry, "Have the hold of an authorization be over"),
    Action(ClearingFlow.simulate_clearing, "Have a shop collect"),
    Action(ClearingFlow.simulate_refund, "Have a shop give money back"),
    Action(DisputeFlow.simulate_dispute, "Have the holder dispute a transaction, and win or lose"),
    Action(PaymentSimulatorFlow.simulate_inbound_payment, "Have another bank pay to an address"),
    Action(PaymentSimulatorFlow.simulate_mandate, "Have a creditor get a direct debit mandate"),
    Action(PaymentSimulatorFlow.simulate_direct_debit, "Have a creditor collect, or the cut-off of a collection pass"),
    Action(PaymentSimulatorFlow.simulate_outbound_result, "Have the provider report what became of a payment out"),
    Action(ReportFlow.simulate_addendum, "Have the network tell details of a transaction"),
)
SIMULATOR_ACTIONS: Mapping[str, Action] = {row.name: row for row in _SIMULATOR_ROWS}
"""``POST /simulator``, outside prod."""

_PORTAL_ROWS = (
    Action(PortalFlow.list_cards, "List the newest cards", effect="read"),
    Action(PortalFlow.show_card, "Show a card with what belongs to it", effect="read"),
    Action(PortalFlow.list_activity, "List the latest activity", effect="read"),
)
PORTAL_ACTIONS: Mapping[str, Action] = {row.name: row for row in _PORTAL_ROWS}
"""Actions for the web interface's card pages; nobody else calls them."""
