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
    """The currency."""
    account_status: fields.NewAccountStatus
    """The account's status."""
    program_id: Id
    """The account programme."""
    risk_rules_group_id: Id | None = None
    """The risk rule group."""
    fee_group_id: Id | None = None
    """The fee group."""
    limit_group_id: Id | None = None
    """The limit group."""
    cards: ExtList[Id] | None = None
    """The cards to link to the account."""
    skip_holder_validation: Flag
    """Whether cards of other holders may be linked to the account."""


class ChangeAccountStatus(Request):
    account_id: Id
    """The account."""
    account_status: fields.AccountStatus
    """The account's new status."""
    reason_code: fields.ReasonCode | None = None
    """The reason for the status."""
    note: ANS[1, 255] | None = None
    """A note."""


class ChangeAccountProgramId(Request):
    account_id: Id
    account_program_id: Id
    """The account's new programme."""


class GetAccounts(Request):
    """getAccounts: get one account, or a card's accounts."""

    conditions: ClassVar = (NeedsOne(("card_id", "account_id")),)

    card_id: Id | None = None
    """A card whose accounts are returned."""
    account_id: Id | None = None


class AssignAccountToRiskRuleGroup(Request):
    account_id: Id
    risk_rule_group_id: Id
    """The account's new risk rule group."""


class AssignAccountToLimitRuleGroup(Request):
    account_id: Id
    limit_group_id: Id
    """The account's new limit group."""


class AssignAccountToFeeRuleGroup(Request):
    account_id: Id
    fee_group_id: Id
    """The account's new fee group."""


class CreatedAccount(Answer):
    """The new account and its holder."""

    id: Id
    """The account."""
    holder_id: Id
    """The holder."""


class HolderAccountRecord(Answer):
    """An account in the response of getHolderAccounts. Amounts are in minor units of its currency."""

    id: Id
    holder_id: Id
    currency_ison: CurrencyIson
    available_balance: int
    """The available balance, in minor units."""
    settled_balance: int
    """The booked balance, in minor units."""
    reserved_balance: int
    """Funds reserved until a dispute is resolved, in minor units."""
    account_status: fields.AccountStatus
    date_updated: N[1, 11]
    """The time of the last account activity, in Unix seconds."""
    program_id: Id
    limit_group_id: Nullable[Id]
    """The limit group; null if none is set."""
    fee_group_id: Id
    risk_group_id: Id
    """The risk rule group."""


class AccountRecord(HolderAccountRecord):
    """An account. Amounts are in minor units of its currency, ``date_updated`` in Unix seconds."""

    status_change_reason_code: fields.ReasonCode | None
    """The reason for the last status change."""
    status_change_note: ANS[1, 255] | None
    """The note on the last status change."""
