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
    account_status: fields.NewAccountStatus
    program_id: Id
    risk_rules_group_id: Id | None = None
    fee_group_id: Id | None = None
    limit_group_id: Id | None = None
    cards: ExtList[Id] | None = None
    skip_holder_validation: Flag


class ChangeAccountStatus(Request):
    account_id: Id
    account_status: fields.AccountStatus
    reason_code: fields.ReasonCode | None = None
    note: ANS[1, 255] | None = None


class ChangeAccountProgramId(Request):
    account_id: Id
    account_program_id: Id


class GetAccounts(Request):
    """getAccounts: get one account, or a card's accounts."""

    conditions: ClassVar = (NeedsOne(("card_id", "account_id")),)

    card_id: Id | None = None
    account_id: Id | None = None


class AssignAccountToRiskRuleGroup(Request):
    account_id: Id
    risk_rule_group_id: Id


class AssignAccountToLimitRuleGroup(Request):
    account_id: Id
    limit_group_id: Id


class AssignAccountToFeeRuleGroup(Request):
    account_id: Id
    fee_group_id: Id


class CreatedAccount(Answer):
    """The new account and its holder."""

    id: Id
    holder_id: Id


class HolderAccountRecord(Answer):
    """An account in the response of getHolderAccounts. Amounts are in minor units of its currency."""

    id: Id
    holder_id: Id
    currency_ison: CurrencyIson
    available_balance: int
    settled_balance: int
    reserved_balance: int
    account_status: fields.AccountStatus
    date_updated: N[1, 11]
    program_id: Id
    limit_group_id: Nullable[Id]
    fee_group_id: Id
    risk_group_id: Id


class AccountRecord(HolderAccountRecord):
    """An account. Amounts are in minor units of its currency, ``date_updated`` in Unix seconds."""

    status_change_reason_code: fields.ReasonCode | None
    status_change_note: ANS[1, 255] | None
