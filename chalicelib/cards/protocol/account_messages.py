"""Messages of the seven account actions (specification, Account operations), and the account record."""

from typing import ClassVar

from chalicelib.cards.protocol import fields
from chalicelib.cards.protocol.fields import ANS, CurrencyIson, ExtList, Flag, Id, N
from chalicelib.cards.protocol.holder_messages import HOLDER_CONDITIONS, HOLDER_IGNORED, WithHolder
from chalicelib.cards.protocol.message import Answer, NeedsOne, Nullable, Request


class CreateAccount(WithHolder):
    """createAccount: open an account for a new or an existing holder, and link cards to it."""

    conditions: ClassVar = HOLDER_CONDITIONS
    ignored: ClassVar = HOLDER_IGNORED

    currency_ison: CurrencyIson
    """The currency as a numeric ISO 4217 code."""
    account_status: fields.NewAccountStatus
    """The account's status. Example: ``"A"``."""
    program_id: Id
    """The account programme's id. Example: ``501``."""
    risk_rules_group_id: Id | None = None
    """The risk rule group's id. Example: ``401``."""
    fee_group_id: Id | None = None
    """The fee group's id. Example: ``301``."""
    limit_group_id: Id | None = None
    """The limit group's id. Example: ``211``."""
    cards: ExtList[Id] | None = None
    """The cards to link to the account."""
    skip_holder_validation: Flag
    """Whether cards of other holders may be linked to the account."""


class ChangeAccountStatus(Request):
    account_id: Id
    """The account's id. Example: ``100000025``."""
    account_status: fields.AccountStatus
    """The account's new status. Example: ``"S"``."""
    reason_code: fields.ReasonCode | None = None
    """The reason for the status. Example: ``2``."""
    note: ANS[1, 255] | None = None
    """A note on the status change. Example: ``"Requested by telephone"``."""


class ChangeAccountProgramId(Request):
    account_id: Id
    account_program_id: Id
    """The account's new programme. Example: ``502``."""


class GetAccounts(Request):
    """getAccounts: get one account, or a card's accounts."""

    conditions: ClassVar = (NeedsOne(("card_id", "account_id")),)

    card_id: Id | None = None
    """The id of the card to which the returned accounts belong."""
    account_id: Id | None = None


class AssignAccountToRiskRuleGroup(Request):
    account_id: Id
    risk_rule_group_id: Id
    """The account's new risk rule group. Example: ``402``."""


class AssignAccountToLimitRuleGroup(Request):
    account_id: Id
    limit_group_id: Id
    """The account's new limit group. Example: ``212``."""


class AssignAccountToFeeRuleGroup(Request):
    account_id: Id
    fee_group_id: Id
    """The account's new fee group. Example: ``302``."""


class CreatedAccount(Answer):
    """The new account and its holder."""

    id: Id
    """The account's id. Example: ``100000025``."""
    holder_id: Id
    """The holder's id. Example: ``100000017``."""


class HolderAccountRecord(Answer):
    """An account in the response of getHolderAccounts. Amounts are in minor units of the account's currency."""

    id: Id
    holder_id: Id
    currency_ison: CurrencyIson
    """The currency as a numeric ISO 4217 code. Example: ``978``."""
    available_balance: int
    """The available balance, in minor units. Example: ``125000``."""
    settled_balance: int
    """The booked balance, in minor units. Example: ``131500``."""
    reserved_balance: int
    """Funds reserved until a dispute is resolved, in minor units. Example: ``0``."""
    account_status: fields.AccountStatus
    """The account's status."""
    date_updated: N[1, 11]
    """The time of the last account activity, in Unix seconds. Example: ``1795253400``."""
    program_id: Id
    """The account programme's id."""
    limit_group_id: Nullable[Id]
    """The limit group's id, or null if no limit group is set."""
    fee_group_id: Id
    """The fee group's id."""
    risk_group_id: Id
    """The risk rule group's id. Example: ``401``."""


class AccountRecord(HolderAccountRecord):
    """An account. Amounts are in minor units of the account's currency, and ``date_updated`` is in Unix seconds."""

    status_change_reason_code: fields.ReasonCode | None
    """The reason for the last status change. Example: ``2``."""
    status_change_note: ANS[1, 255] | None
    """The note on the last status change. Example: ``"Requested by telephone"``."""
