"""What the banks answer to webhooks, each version in its own record format (specification, Records)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chalicelib.demo_bank import consents
from chalicelib.demo_bank.consents import Consent
from chalicelib.demo_bank.customers import Account
from chalicelib.demo_bank.runtime import Bank
from chalicelib.openbanking.protocol.bank_calls import RevokeToken
from chalicelib.openbanking.protocol.errors import Fault, Refusal
from chalicelib.openbanking.protocol.webhooks import AccountRequestV1, AccountRequestV2


@dataclass(frozen=True, slots=True)
class Call:
    """One webhook, checked: its request by the row's model, and the consent that it concerns, if any."""

    bank: Bank
    request: Any
    consent: Consent | None

    @property
    def accounts(self) -> tuple[Account, ...]:
        """The accounts that the PSU approved."""
        return self.consent.accounts(self.bank) if self.consent else ()


def accounts_v1(call: Call) -> dict[str, Any]:
    return {"accounts": [account_record(account) for account in call.accounts]}


def account_v1(call: Call) -> dict[str, Any]:
    request: AccountRequestV1 = call.request
    for account in call.accounts:
        if request.account_id == account.account_id or (request.iban and request.iban == account.iban):
            return {"account": account_record(account)}
    raise _no_account()


def accounts_v2(call: Call) -> dict[str, Any]:
    return {"accounts": [account_reference(account) for account in call.accounts]}


def account_v2(call: Call) -> dict[str, Any]:
    request: AccountRequestV2 = call.request
    for account in call.accounts:
        if request.account_id == account.account_id:
            return {"account": account_reference(account)}
    raise _no_account()


def revoke_token(call: Call) -> dict[str, Any]:
    """The service has ended a consent; a repeat succeeds. The answer is the same in both versions."""
    request: RevokeToken = call.request
    if not consents.end_by_token(call.bank, request.access_token):
        raise UnknownToken
    return {"status": "success"}


def account_record(account: Account) -> dict[str, Any]:
    """A version 1 account: ``id``, ``name``, ``iban``, ``currency``, ``additional_data``."""
    return {
        "id": account.account_id,
        "name": account.name,
        "iban": account.iban,
        "currency": account.currency,
        "additional_data": [{"sort_code": account.sort_code, "account_number": account.number}],
    }


def account_reference(account: Account) -> dict[str, Any]:
    """A version 2 account reference; a card account has no ``iban``."""
    reference = {
        "resource_id": account.account_id,
        "iban": account.iban,
        "bban": account.bban,
        "currency": account.currency,
        "name": account.name,
        "payment_schemes": list(account.payment_schemes),
    }
    return {name: value for name, value in reference.items() if value}


class UnknownToken(Refusal):
    """A token that this bank never had: no repeat will make it known, whence HTTP 404 in both versions."""

    def __init__(self) -> None:
        super().__init__(Fault.UNKNOWN_TOKEN, "this bank has no such token")


def _no_account() -> Refusal:
    return Refusal(Fault.UNKNOWN_RESOURCE, "the customer approved no such account")
