"""The tables of actions: a row is one action and names the function that carries it out.

All else is derived from them: what a request may hold and an answer holds, the documents, and tests.
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
from chalicelib.cards.protocol.portal_messages import LIST_ACTIVITY, LIST_CARDS, SHOW_CARD
from chalicelib.cards.reports.report_flow import ReportFlow
from chalicelib.cards.requests.action import Action
from chalicelib.cards.three_ds.acs_flow import AcsFlow

_ROWS = (
    # Accounts
    Action(
        "createAccount",
        "write",
        AccountFlow.create_account,
        "Open an account for a new or an existing holder",
        creates=True,
    ),
    Action("changeAccountStatus", "write", AccountFlow.change_account_status, "Change an account's status"),
    Action("changeAccountProgramId", "write", AccountFlow.change_account_program_id, "Move an account to a programme"),
    Action("getAccounts", "read", AccountFlow.get_accounts, "Show an account, or a card's"),
    Action(
        "assignAccountToRiskRuleGroup",
        "write",
        AccountFlow.assign_account_to_risk_rule_group,
        "Give an account another risk rule group",
    ),
    Action(
        "assignAccountToLimitRuleGroup",
        "write",
        AccountFlow.assign_account_to_limit_rule_group,
        "Give an account another limit group",
    ),
    Action(
        "assignAccountToFeeRuleGroup",
        "write",
        AccountFlow.assign_account_to_fee_rule_group,
        "Give an account another fee group",
    ),
    # Cards
    Action("activateCard", "write", CardFlow.activate_card, "Activate a card"),
    Action("assignCardToFeesGroup", "write", CardFlow.assign_card_to_fees_group, "Give a card another fee group"),
    Action("assignCardToLimitsGroup", "write", CardFlow.assign_card_to_limits_group, "Give a card another limit group"),
    Action("assignCardToUsageGroup", "write", CardFlow.assign_card_to_usage_group, "Give a card another usage group"),
    Action(
        "assignCardToRiskRuleGroup",
        "write",
        CardFlow.assign_card_to_risk_rule_group,
        "Give a card another risk rule group",
    ),
    Action(
        "changeCardSchemeAccountUpdatesStatus",
        "write",
        CardFlow.change_card_scheme_account_updates_status,
        "Have a card take part in the scheme's account updates, or not",
    ),
    Action("changeCardStatus", "write", CardFlow.change_card_status, "Change a card's status"),
    Action(
        "createCard", "write", CardCreationFlow.create_card, "Make a virtual or physical card", seals=True, creates=True
    ),
    Action("getCvc2", "reveal", CardFlow.get_cvc2, "Reveal a card's CVC2", field="cvc2"),
    Action("getCardDetails", "read", CardFlow.get_card_details, "Show a card"),
    Action("getCardNumber", "reveal", CardFlow.get_card_number, "Reveal a card's number", field="pan"),
    Action("getPin", "reveal", CardFlow.get_pin, "Reveal a card's PIN", field="pin"),
    Action("getCardStatus", "read", CardFlow.get_card_status, "Show a card's status"),
    Action(
        "reissueCard",
        "write",
        CardReissueFlow.reissue_card,
        "Issue a card anew, with its number and PIN or new ones",
        seals=True,
    ),
    Action("setPin", "write", CardFlow.set_pin, "Set a card's PIN"),
    Action("unblockPin", "write", CardFlow.unblock_pin, "Unblock a card's PIN"),
    Action("getDesign", "read", CardFlow.get_design, "List a programme's card designs"),
    Action(
        "getCardAcsPassword",
        "reveal",
        CardFlow.get_card_acs_password,
        "Reveal a card's password of 3-D Secure",
        field="acs_password",
    ),
    Action(
        "changeCardAcsPassword", "write", CardFlow.change_card_acs_password, "Change a card's password of 3-D Secure"
    ),
    Action(
        "createCardAcsMerchantWhitelistRule",
        "write",
        AcsFlow.create_card_acs_merchant_whitelist_rule,
        "Tell where 3-D Secure asks the cardholder nothing",
    ),
    Action("authenticationConfirm", "write", AcsFlow.authentication_confirm, "Answer a request of 3-D Secure"),
    # Holders
    Action("getHolder", "read", HolderFlow.get_holder, "Show a holder"),
    Action("getHolderAccounts", "read", HolderFlow.get_holder_accounts, "List a holder's accounts"),
    Action("createHolder", "write", HolderFlow.create_holder, "Register a holder", creates=True, answers_id=True),
    Action("updateHolder", "write", HolderFlow.update_holder, "Change what is known of a holder", answers_id=True),
    # External payments
    Action(
        "assignExternalPaymentAddress",
        "write",
        AddressFlow.assign_external_payment_address,
        "Open bank-account details that lead to an account",
        creates=True,
    ),
    Action(
        "assignExternalPaymentAddressForSpecialAccount",
        "write",
        AddressFlow.assign_external_payment_address_for_special_account,
        "Open bank-account details that lead to a special account",
        creates=True,
    ),
    Action(
        "cancelExternalPaymentMandate",
        "write",
        DirectDebits.cancel_external_payment_mandate,
        "Cancel a direct debit mandate",
    ),
    Action(
        "changeDDExternalPaymentStatus",
        "write",
        DirectDebits.change_dd_external_payment_status,
        "Say whether a direct debit is to be paid",
    ),
    Action(
        "getExternalPaymentAddress",
        "read",
        AddressFlow.get_external_payment_address,
        "Show an external payment address",
    ),
    Action(
        "getAccountExternalPaymentAddresses",
        "read",
        AddressFlow.get_account_external_payment_addresses,
        "List an account's external payment addresses",
    ),
    Action(
        "changeExternalPaymentAddressStatus",
        "write",
        AddressFlow.change_external_payment_address_status,
        "Change an external payment address's status",
    ),
    Action(
        "transferToExternalPayment", "write", TransferFlow.transfer_to_external_payment, "Pay to another bank account"
    ),
    Action("inboundReturn", "write", ReturnFlow.inbound_return, "Send back a payment that came in"),
    Action("directDebitReturn", "write", ReturnFlow.direct_debit_return, "Take back a direct debit that was paid"),
    Action("directCreditReturn", "write", ReturnFlow.direct_credit_return, "Send back a direct credit that came in"),
    # Fees and limits
    Action("createCustomFee", "write", FeeFlow.create_custom_fee, "Take a fee from an account"),
    Action("getCardFees", "read", FeeFlow.get_card_fees, "List the fees of a card's fee group"),
    Action("getFeesGroups", "read", FeeFlow.get_fees_groups, "List fee groups"),
    Action("getLimits", "read", LimitFlow.get_limits, "List the limits of a card, account or holder"),
    Action("getLimitsGroups", "read", LimitFlow.get_limits_groups, "List limit groups"),
    Action(
        "getLimitsStatus",
        "read",
        LimitFlow.get_limits_status,
        "Show what is left of the limits of a card, account or holder",
    ),
    # Reports
    Action(
        "getCardsActivity",
        "read",
        ReportFlow.get_cards_activity,
        "List what the network asked about a card, or about all cards",
    ),
    Action("getFinancialAuthorizes", "read", ReportFlow.get_financial_authorizes, "List the authorizations of a card"),
    Action("getTransactions", "read", ReportFlow.get_transactions, "List the transactions of a card or an account"),
    Action(
        "getFinancialDetailAddendums",
        "read",
        ReportFlow.get_financial_detail_addendums,
        "List what the network has told of transactions afterwards",
    ),
)
ACTIONS: Mapping[str, Action] = {row.name: row for row in _ROWS}
"""``POST /api``."""

_SIMULATOR_ROWS = (
    Action(
        "simulateAuthentication",
        "write",
        AcsFlow.simulate_authentication,
        "Have an online shop ask for 3-D Secure",
    ),
    Action(
        "simulateAuthorization",
        "write",
        AuthorizationFlow.simulate_authorization,
        "Have the network ask whether a card may be used",
        patience=2,
        late=AuthorizationFlow.decline_late,
    ),
    Action(
        "simulateAdvice",
        "write",
        AuthorizationFlow.simulate_advice,
        "Have the network tell what it decided in the issuer's place",
    ),
    Action(
        "simulateIncrement",
        "write",
        AuthorizationFlow.simulate_increment,
        "Have a shop ask for more on an authorization",
    ),
    Action(
        "simulateReversal",
        "write",
        HoldRelease.simulate_reversal,
        "Have a shop give up an authorization, or a part of it",
    ),
    Action("simulateExpiry", "write", HoldRelease.simulate_expiry, "Have the hold of an authorization be over"),
    Action("simulateClearing", "write", ClearingFlow.simulate_clearing, "Have a shop collect"),
    Action("simulateRefund", "write", ClearingFlow.simulate_refund, "Have a shop give money back"),
    Action(
        "simulateDispute",
        "write",
        DisputeFlow.simulate_dispute,
        "Have the holder dispute a transaction, and win or lose",
    ),
    Action(
        "simulateInboundPayment",
        "write",
        PaymentSimulatorFlow.simulate_inbound_payment,
        "Have another bank pay to an address",
    ),
    Action(
        "simulateMandate", "write", PaymentSimulatorFlow.simulate_mandate, "Have a creditor get a direct debit mandate"
    ),
    Action(
        "simulateDirectDebit",
        "write",
        PaymentSimulatorFlow.simulate_direct_debit,
        "Have a creditor collect, or the cut-off of a collection pass",
    ),
    Action(
        "simulateOutboundResult",
        "write",
        PaymentSimulatorFlow.simulate_outbound_result,
        "Have the provider report what became of a payment out",
    ),
    Action("simulateAddendum", "write", ReportFlow.simulate_addendum, "Have the network tell details of a transaction"),
)
SIMULATOR_ACTIONS: Mapping[str, Action] = {row.name: row for row in _SIMULATOR_ROWS}
"""``POST /simulator``, outside prod."""

_PORTAL_ROWS = (
    Action(LIST_CARDS, "read", PortalFlow.list_cards, "List the newest cards"),
    Action(SHOW_CARD, "read", PortalFlow.show_card, "Show a card with what belongs to it"),
    Action(LIST_ACTIVITY, "read", PortalFlow.list_activity, "List the latest activity"),
)
PORTAL_ACTIONS: Mapping[str, Action] = {row.name: row for row in _PORTAL_ROWS}
"""What the web interface shows a programme manager's people; nobody else calls them."""
