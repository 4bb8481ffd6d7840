"""The table of actions: one row is one action of ``POST /api``, and everything else is derived from it."""

from __future__ import annotations

from chalicelib.cards.protocol import account_messages as accounts
from chalicelib.cards.protocol import card_messages as cards
from chalicelib.cards.protocol import card_records as records
from chalicelib.cards.protocol import holder_messages as holders
from chalicelib.cards.protocol import money_messages as money
from chalicelib.cards.protocol import payment_messages as payments
from chalicelib.cards.protocol import report_messages as reports
from chalicelib.cards.protocol.action import Action, read, reveal, write

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
    write("changeAccountStatus", "accounts", accounts.ChangeAccountStatus, "Change an account's status"),
    write("changeAccountProgramId", "accounts", accounts.ChangeAccountProgramId, "Move an account to a programme"),
    read(
        "getAccounts", "accounts", accounts.GetAccounts, accounts.AccountRecord, "list", "Show an account, or a card's"
    ),
    write(
        "assignAccountToRiskRuleGroup",
        "accounts",
        accounts.AssignAccountToRiskRuleGroup,
        "Give an account another risk rule group",
    ),
    write(
        "assignAccountToLimitRuleGroup",
        "accounts",
        accounts.AssignAccountToLimitRuleGroup,
        "Give an account another limit group",
    ),
    write(
        "assignAccountToFeeRuleGroup",
        "accounts",
        accounts.AssignAccountToFeeRuleGroup,
        "Give an account another fee group",
    ),
    # Cards
    write("activateCard", "cards", cards.ActivateCard, "Activate a card"),
    write("assignCardToFeesGroup", "cards", cards.AssignCardToFeesGroup, "Give a card another fee group"),
    write("assignCardToLimitsGroup", "cards", cards.AssignCardToLimitsGroup, "Give a card another limit group"),
    write("assignCardToUsageGroup", "cards", cards.AssignCardToUsageGroup, "Give a card another usage group"),
    write("assignCardToRiskRuleGroup", "cards", cards.AssignCardToRiskRuleGroup, "Give a card another risk rule group"),
    write(
        "changeCardSchemeAccountUpdatesStatus",
        "cards",
        cards.ChangeCardSchemeAccountUpdatesStatus,
        "Have a card take part in the scheme's account updates, or not",
    ),
    write("changeCardStatus", "cards", cards.ChangeCardStatus, "Change a card's status"),
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
    reveal("getCvc2", "cvc2", records.Cvc2, "Reveal a card's CVC2"),
    read("getCardDetails", "cards", cards.OfCard, records.CardDetails, "object", "Show a card"),
    reveal("getCardNumber", "pan", records.CardNumber, "Reveal a card's number"),
    reveal("getPin", "pin", records.Pin, "Reveal a card's PIN"),
    read("getCardStatus", "cards", cards.OfCard, records.CardStatusAnswer, "object", "Show a card's status"),
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
    write("setPin", "cards", cards.SetPin, "Set a card's PIN"),
    write("unblockPin", "cards", cards.OfCard, "Unblock a card's PIN"),
    read("getDesign", "cards", cards.GetDesign, records.Design, "list", "List a programme's card designs"),
    reveal("getCardAcsPassword", "acs_password", records.AcsPassword, "Reveal a card's password of 3-D Secure"),
    write("changeCardAcsPassword", "cards", cards.ChangeCardAcsPassword, "Change a card's password of 3-D Secure"),
    Action(
        "createCardAcsMerchantWhitelistRule",
        "acs",
        "write",
        cards.CreateCardAcsMerchantWhitelistRule,
        records.WhitelistRule,
        "object",
        "Tell where 3-D Secure asks the cardholder nothing",
    ),
    write(
        "authenticationConfirm", "acs", cards.AuthenticationConfirm, "Answer a request of 3-D Secure", "empty object"
    ),
    # Holders
    read("getHolder", "holders", holders.GetHolder, holders.HolderRecord, "object", "Show a holder"),
    read(
        "getHolderAccounts",
        "holders",
        holders.GetHolderAccounts,
        accounts.HolderAccountRecord,
        "list",
        "List a holder's accounts",
    ),
    Action("createHolder", "holders", "write", holders.CreateHolder, None, "id", "Register a holder", creates=True),
    write("updateHolder", "holders", holders.UpdateHolder, "Change what is known of a holder", "id"),
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
    write(
        "cancelExternalPaymentMandate", "debits", payments.CancelExternalPaymentMandate, "Cancel a direct debit mandate"
    ),
    write(
        "changeDDExternalPaymentStatus",
        "debits",
        payments.ChangeDDExternalPaymentStatus,
        "Say whether a direct debit is to be paid",
    ),
    read(
        "getExternalPaymentAddress",
        "addresses",
        payments.GetExternalPaymentAddress,
        payments.AddressWithStatus,
        "object",
        "Show an external payment address",
    ),
    read(
        "getAccountExternalPaymentAddresses",
        "addresses",
        payments.GetAccountExternalPaymentAddresses,
        payments.AddressRecord,
        "list",
        "List an account's external payment addresses",
    ),
    write(
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
    write("directDebitReturn", "returns", payments.DirectDebitReturn, "Take back a direct debit that was paid"),
    write("directCreditReturn", "returns", payments.DirectCreditReturn, "Send back a direct credit that came in"),
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
    read("getCardFees", "fees", money.GetCardFees, money.FeeEntryRecord, "list", "List the fees of a card's fee group"),
    read("getFeesGroups", "fees", money.GetFeesGroups, money.NamedGroup, "list", "List fee groups"),
    read(
        "getLimits",
        "limits",
        money.GetLimits,
        money.LimitEntryRecord,
        "list",
        "List the limits of a card, account or holder",
    ),
    read("getLimitsGroups", "limits", money.GetLimitsGroups, money.NamedGroup, "list", "List limit groups"),
    read(
        "getLimitsStatus",
        "limits",
        money.GetLimitsStatus,
        money.LimitStatusRecord,
        "list",
        "Show what is left of the limits of a card, account or holder",
    ),
    # Reports
    read(
        "getCardsActivity",
        "reports",
        reports.GetCardsActivity,
        reports.CardActivityRecord,
        "list",
        "List what the network asked about a card, or about all cards",
    ),
    read(
        "getFinancialAuthorizes",
        "reports",
        reports.GetFinancialAuthorizes,
        reports.FinancialAuthorizeRecord,
        "list",
        "List the authorizations of a card",
    ),
    read(
        "getTransactions",
        "reports",
        reports.GetTransactions,
        reports.TransactionRecord,
        "list",
        "List the transactions of a card or an account",
    ),
    read(
        "getFinancialDetailAddendums",
        "reports",
        reports.GetFinancialDetailAddendums,
        reports.AddendumRecord,
        "list",
        "List what the network has told of transactions afterwards",
    ),
)

ACTIONS = {row.name: row for row in _ROWS}
"""``POST /api``."""
