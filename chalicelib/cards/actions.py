"""The action tables: each row is one action, named after the function that carries it out.

Requests, responses, documentation and tests are derived from them.
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
    Action(AccountFlow.change_account_program_id, "Move an account to another programme"),
    Action(AccountFlow.get_accounts, "Read an account or a card's accounts", effect="read"),
    Action(AccountFlow.assign_account_to_risk_rule_group, "Assign an account to a risk rule group"),
    Action(AccountFlow.assign_account_to_limit_rule_group, "Assign an account to a limit group"),
    Action(AccountFlow.assign_account_to_fee_rule_group, "Assign an account to a fee group"),
    # Cards
    Action(CardFlow.activate_card, "Activate a card"),
    Action(CardFlow.assign_card_to_fees_group, "Assign a card to a fee group"),
    Action(CardFlow.assign_card_to_limits_group, "Assign a card to a limit group"),
    Action(CardFlow.assign_card_to_usage_group, "Assign a card to a usage group"),
    Action(CardFlow.assign_card_to_risk_rule_group, "Assign a card to a risk rule group"),
    Action(
        CardFlow.change_card_scheme_account_updates_status, "Enable or disable the scheme's account updates for a card"
    ),
    Action(CardFlow.change_card_status, "Change a card's status"),
    Action(CardCreationFlow.create_card, "Create a virtual or physical card", seals=True, creates=True),
    Action(CardFlow.get_cvc2, "Reveal a card's CVC2", effect="reveal", field="cvc2"),
    Action(CardFlow.get_card_details, "Read a card", effect="read"),
    Action(CardFlow.get_card_number, "Reveal a card's number", effect="reveal", field="pan"),
    Action(CardFlow.get_pin, "Reveal a card's PIN", effect="reveal", field="pin"),
    Action(CardFlow.get_card_status, "Read a card's status", effect="read"),
    Action(CardReissueFlow.reissue_card, "Reissue a card, with the same or a new number and PIN", seals=True),
    Action(CardFlow.set_pin, "Set a card's PIN"),
    Action(CardFlow.unblock_pin, "Unblock a card's PIN"),
    Action(CardFlow.get_design, "List a programme's card designs", effect="read"),
    Action(
        CardFlow.get_card_acs_password, "Reveal a card's 3-D Secure password", effect="reveal", field="acs_password"
    ),
    Action(CardFlow.change_card_acs_password, "Change a card's 3-D Secure password"),
    Action(
        AcsFlow.create_card_acs_merchant_whitelist_rule,
        "Create a rule that exempts merchants from 3-D Secure challenges",
    ),
    Action(AcsFlow.authentication_confirm, "Answer a 3-D Secure request"),
    # Holders
    Action(HolderFlow.get_holder, "Read a holder", effect="read"),
    Action(HolderFlow.get_holder_accounts, "List a holder's accounts", effect="read"),
    Action(HolderFlow.create_holder, "Register a holder", creates=True, answers_id=True),
    Action(HolderFlow.update_holder, "Update a holder", answers_id=True),
    # External payments
    Action(AddressFlow.assign_external_payment_address, "Assign bank-account details to an account", creates=True),
    Action(
        AddressFlow.assign_external_payment_address_for_special_account,
        "Assign bank-account details to a special account",
        creates=True,
    ),
    Action(DirectDebits.cancel_external_payment_mandate, "Cancel a direct debit mandate"),
    Action(
        DirectDebits.change_dd_external_payment_status,
        "Decide whether a direct debit is paid",
        spelling="changeDDExternalPaymentStatus",
    ),
    Action(AddressFlow.get_external_payment_address, "Read an external payment address", effect="read"),
    Action(
        AddressFlow.get_account_external_payment_addresses,
        "List an account's external payment addresses",
        effect="read",
    ),
    Action(AddressFlow.change_external_payment_address_status, "Change an external payment address's status"),
    Action(TransferFlow.transfer_to_external_payment, "Pay to another bank account"),
    Action(ReturnFlow.inbound_return, "Return an inbound payment"),
    Action(ReturnFlow.direct_debit_return, "Return a paid direct debit"),
    Action(ReturnFlow.direct_credit_return, "Return an inbound direct credit"),
    # Fees and limits
    Action(FeeFlow.create_custom_fee, "Charge a fee to an account"),
    Action(FeeFlow.get_card_fees, "List the fees of a card's fee group", effect="read"),
    Action(FeeFlow.get_fees_groups, "List fee groups", effect="read"),
    Action(LimitFlow.get_limits, "List the limits of a card, account or holder", effect="read"),
    Action(LimitFlow.get_limits_groups, "List limit groups", effect="read"),
    Action(LimitFlow.get_limits_status, "Read the remaining limits of a card, account or holder", effect="read"),
    # Reports
    Action(ReportFlow.get_cards_activity, "List the network messages for a card or for all cards", effect="read"),
    Action(ReportFlow.get_financial_authorizes, "List the authorizations of a card", effect="read"),
    Action(ReportFlow.get_transactions, "List the transactions of a card or an account", effect="read"),
    Action(ReportFlow.get_financial_detail_addendums, "List the network's addendums to transactions", effect="read"),
)
ACTIONS: Mapping[str, Action] = {row.name: row for row in _ROWS}
"""The actions of ``POST /api``, by name."""

_SIMULATOR_ROWS = (
    Action(AcsFlow.simulate_authentication, "Simulate a 3-D Secure request from an online shop"),
    Action(
        AuthorizationFlow.simulate_authorization,
        "Simulate an authorization request from the network",
        patience=2,
        late=AuthorizationFlow.decline_late,
        unrecorded=AuthorizationFlow.decline_unrecorded,
    ),
    Action(AuthorizationFlow.simulate_advice, "Simulate an advice of the network's stand-in decision"),
    Action(AuthorizationFlow.simulate_increment, "Simulate the increment of an authorization"),
    Action(HoldRelease.simulate_reversal, "Simulate a full or partial reversal of an authorization"),
    Action(HoldRelease.simulate_expiry, "Simulate the expiry of an authorization's hold"),
    Action(ClearingFlow.simulate_clearing, "Simulate a clearing"),
    Action(ClearingFlow.simulate_refund, "Simulate a refund"),
    Action(DisputeFlow.simulate_dispute, "Simulate a step of a dispute"),
    Action(PaymentSimulatorFlow.simulate_inbound_payment, "Simulate a payment from another bank to an address"),
    Action(PaymentSimulatorFlow.simulate_mandate, "Simulate the creation of a direct debit mandate"),
    Action(PaymentSimulatorFlow.simulate_direct_debit, "Simulate a direct debit collection or its cut-off"),
    Action(PaymentSimulatorFlow.simulate_outbound_result, "Simulate the provider's result for an outbound payment"),
    Action(ReportFlow.simulate_addendum, "Simulate an addendum from the network"),
)
SIMULATOR_ACTIONS: Mapping[str, Action] = {row.name: row for row in _SIMULATOR_ROWS}
"""The actions of ``POST /simulator``, by name; not available in prod."""

_PORTAL_ROWS = (
    Action(PortalFlow.list_cards, "List the newest cards", effect="read"),
    Action(PortalFlow.show_card, "Show a card and its related records", effect="read"),
    Action(PortalFlow.list_activity, "List the latest activity", effect="read"),
    Action(PortalFlow.list_programmes, "List the card programmes for a new card", effect="read"),
    Action(PortalFlow.list_credentials, "List the credentials with their limits of calls", effect="read"),
    Action(PortalFlow.show_statement, "Show the statement of a card's account", effect="read"),
)
PORTAL_ACTIONS: Mapping[str, Action] = {row.name: row for row in _PORTAL_ROWS}
"""Internal actions for the card pages of the web interface."""
