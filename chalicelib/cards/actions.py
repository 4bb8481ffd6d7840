"""The action tables. Each row defines one action, named after its handler function.

Requests, responses, documentation and tests are derived from these tables.
"""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.cards.authorization import authorization_flow, clearing_flow, dispute_flow, hold_release
from chalicelib.cards.issuing import (
    account_flow,
    card_creation_flow,
    card_flow,
    card_reissue_flow,
    fee_flow,
    holder_flow,
    limit_flow,
)
from chalicelib.cards.payments import address_flow, direct_debits, return_flow, simulator_flow, transfer_flow
from chalicelib.cards.portal import portal_flow
from chalicelib.cards.reports import report_flow
from chalicelib.cards.requests.action import Action
from chalicelib.cards.three_ds import acs_flow

_ROWS = (
    # Accounts
    Action(account_flow.create_account, "Open an account for a new or an existing holder", creates=True),
    Action(account_flow.change_account_status, "Change an account's status"),
    Action(account_flow.change_account_program_id, "Move an account to another programme"),
    Action(account_flow.get_accounts, "Read an account or a card's accounts", effect="read"),
    Action(account_flow.assign_account_to_risk_rule_group, "Assign an account to a risk rule group"),
    Action(account_flow.assign_account_to_limit_rule_group, "Assign an account to a limit group"),
    Action(account_flow.assign_account_to_fee_rule_group, "Assign an account to a fee group"),
    # Cards
    Action(card_flow.activate_card, "Activate a card"),
    Action(card_flow.assign_card_to_fees_group, "Assign a card to a fee group"),
    Action(card_flow.assign_card_to_limits_group, "Assign a card to a limit group"),
    Action(card_flow.assign_card_to_usage_group, "Assign a card to a usage group"),
    Action(card_flow.assign_card_to_risk_rule_group, "Assign a card to a risk rule group"),
    Action(
        card_flow.change_card_scheme_account_updates_status, "Enable or disable the scheme's account updates for a card"
    ),
    Action(card_flow.change_card_status, "Change a card's status"),
    Action(card_creation_flow.create_card, "Create a virtual or physical card", seals=True, creates=True),
    Action(card_flow.get_cvc2, "Reveal a card's CVC2", effect="reveal", field="cvc2"),
    Action(card_flow.get_card_details, "Read a card", effect="read"),
    Action(card_flow.get_card_number, "Reveal a card's number", effect="reveal", field="pan"),
    Action(card_flow.get_pin, "Reveal a card's PIN", effect="reveal", field="pin"),
    Action(card_flow.get_card_status, "Read a card's status", effect="read"),
    Action(card_reissue_flow.reissue_card, "Reissue a card, with the same or a new number and PIN", seals=True),
    Action(card_flow.set_pin, "Set a card's PIN"),
    Action(card_flow.unblock_pin, "Unblock a card's PIN"),
    Action(card_flow.get_design, "List a programme's card designs", effect="read"),
    Action(
        card_flow.get_card_acs_password, "Reveal a card's 3-D Secure password", effect="reveal", field="acs_password"
    ),
    Action(card_flow.change_card_acs_password, "Change a card's 3-D Secure password"),
    Action(
        acs_flow.create_card_acs_merchant_whitelist_rule,
        "Create a rule that exempts merchants from 3-D Secure challenges",
    ),
    Action(acs_flow.authentication_confirm, "Answer a 3-D Secure request"),
    # Holders
    Action(holder_flow.get_holder, "Read a holder", effect="read"),
    Action(holder_flow.get_holder_accounts, "List a holder's accounts", effect="read"),
    Action(holder_flow.create_holder, "Register a holder", creates=True, answers_id=True),
    Action(holder_flow.update_holder, "Update a holder", answers_id=True),
    # External payments
    Action(address_flow.assign_external_payment_address, "Assign bank-account details to an account", creates=True),
    Action(
        address_flow.assign_external_payment_address_for_special_account,
        "Assign bank-account details to a special account",
        creates=True,
    ),
    Action(direct_debits.cancel_external_payment_mandate, "Cancel a direct debit mandate"),
    Action(
        direct_debits.change_dd_external_payment_status,
        "Decide whether a direct debit is paid",
        spelling="changeDDExternalPaymentStatus",
    ),
    Action(address_flow.get_external_payment_address, "Read an external payment address", effect="read"),
    Action(
        address_flow.get_account_external_payment_addresses,
        "List an account's external payment addresses",
        effect="read",
    ),
    Action(address_flow.change_external_payment_address_status, "Change an external payment address's status"),
    Action(transfer_flow.transfer_to_external_payment, "Pay to another bank account"),
    Action(return_flow.inbound_return, "Return an inbound payment"),
    Action(return_flow.direct_debit_return, "Return a paid direct debit"),
    Action(return_flow.direct_credit_return, "Return an inbound direct credit"),
    # Fees and limits
    Action(fee_flow.create_custom_fee, "Charge a fee to an account"),
    Action(fee_flow.get_card_fees, "List the fees of a card's fee group", effect="read"),
    Action(fee_flow.get_fees_groups, "List fee groups", effect="read"),
    Action(limit_flow.get_limits, "List the limits of a card, account or holder", effect="read"),
    Action(limit_flow.get_limits_groups, "List limit groups", effect="read"),
    Action(limit_flow.get_limits_status, "Read the remaining limits of a card, account or holder", effect="read"),
    # Reports
    Action(report_flow.get_cards_activity, "List the network messages for a card or for all cards", effect="read"),
    Action(report_flow.get_financial_authorizes, "List the authorizations of a card", effect="read"),
    Action(report_flow.get_transactions, "List the transactions of a card or an account", effect="read"),
    Action(report_flow.get_financial_detail_addendums, "List the network's addendums to transactions", effect="read"),
)
ACTIONS: Mapping[str, Action] = {row.name: row for row in _ROWS}
"""The actions of ``POST /api``, by name."""

_SIMULATOR_ROWS = (
    Action(acs_flow.simulate_authentication, "Simulate a 3-D Secure request from an online shop"),
    Action(
        authorization_flow.simulate_authorization,
        "Simulate an authorization request from the network",
        patience=2,
        late=authorization_flow.decline_late,
        unrecorded=authorization_flow.decline_unrecorded,
    ),
    Action(authorization_flow.simulate_advice, "Simulate an advice of the network's stand-in decision"),
    Action(authorization_flow.simulate_increment, "Simulate the increment of an authorization"),
    Action(hold_release.simulate_reversal, "Simulate a full or partial reversal of an authorization"),
    Action(hold_release.simulate_expiry, "Simulate the expiry of an authorization's hold"),
    Action(clearing_flow.simulate_clearing, "Simulate a clearing"),
    Action(clearing_flow.simulate_refund, "Simulate a refund"),
    Action(dispute_flow.simulate_dispute, "Simulate a step of a dispute"),
    Action(simulator_flow.simulate_inbound_payment, "Simulate a payment from another bank to an address"),
    Action(simulator_flow.simulate_mandate, "Simulate the creation of a direct debit mandate"),
    Action(simulator_flow.simulate_direct_debit, "Simulate a direct debit collection or its cut-off"),
    Action(simulator_flow.simulate_outbound_result, "Simulate the provider's result for an outbound payment"),
    Action(report_flow.simulate_addendum, "Simulate an addendum from the network"),
)
SIMULATOR_ACTIONS: Mapping[str, Action] = {row.name: row for row in _SIMULATOR_ROWS}
"""The actions of ``POST /simulator``, by name; not available in prod."""

_PORTAL_ROWS = (
    Action(portal_flow.list_cards, "List the newest cards", effect="read"),
    Action(portal_flow.show_card, "Show a card and its related records", effect="read"),
    Action(portal_flow.list_activity, "List the latest activity", effect="read"),
    Action(portal_flow.list_programmes, "List the card programmes for a new card", effect="read"),
    Action(portal_flow.list_credentials, "List the credentials with their limits of calls", effect="read"),
    Action(portal_flow.show_statement, "Show the statement of a card's account", effect="read"),
)
PORTAL_ACTIONS: Mapping[str, Action] = {row.name: row for row in _PORTAL_ROWS}
"""Internal actions for the card pages of the web interface."""
