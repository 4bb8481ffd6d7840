"""What the service calls at a bank, and the TPP calls that lead there (specification, Service to bank).

A row of ``RELAYED`` is one call of a TPP; per bank version it names the webhook, the scope it needs, the model of its
request and the model that the bank's answer is held against. Adding a call is adding a row and its models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import model_validator

from chalicelib.foundation.fields import AN, A, Iban, Message, N, OpenMessage, fault
from chalicelib.openbanking.protocol.scopes import Version


class Nothing(Message):
    """A request without members."""


class AccountRequestV1(Message):
    iban: Iban | None = None
    account_id: AN[34] | None = None

    @model_validator(mode="after")
    def one_of(self) -> AccountRequestV1:
        if (self.iban is None) == (self.account_id is None):
            fault("value", "one of iban and account_id is required")
        return self


class AccountV1(OpenMessage):
    id: N[20]
    name: AN[50]
    iban: AN[34]
    currency: A[3]
    additional_data: list[Any] | dict[str, Any] | None = None


class AccountsAnswerV1(OpenMessage):
    accounts: list[AccountV1]


class AccountAnswerV1(OpenMessage):
    account: AccountV1


class AccountRequestV2(Message):
    account_id: AN[255]


class AccountReference(OpenMessage):
    resource_id: AN[255]
    iban: AN[34] | None = None
    bban: AN[30] | None = None
    account_number: N[8] | None = None
    sort_code: N[6] | None = None
    currency: A[3]
    name: AN[255] | None = None
    payment_schemes: list[AN[5]] | None = None


class AccountsAnswerV2(OpenMessage):
    accounts: list[AccountReference]


class AccountAnswerV2(OpenMessage):
    account: AccountReference


def account_as_object(answer: dict[str, Any]) -> dict[str, Any]:
    """A version 2 account may come as a list of one; it is answered as an object."""
    account = answer.get("account")
    return {**answer, "account": account[0]} if isinstance(account, list) and len(account) == 1 else answer


def unchanged(answer: dict[str, Any]) -> dict[str, Any]:
    return answer


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of one bank version.

    Attributes:
        path: at the bank's own address.
        scope: that the consent must have.
        request: model of the body that is sent.
        answer: model that the bank's answer is held against; the answer itself is handed on.
        shape: brings the quirks that the specification admits into one shape.
    """

    path: str
    scope: str
    request: type[Message]
    answer: type[OpenMessage]
    shape: Callable[[dict[str, Any]], dict[str, Any]] = unchanged


@dataclass(frozen=True, slots=True)
class RelayedCall:
    """One call of a TPP that is answered by a bank."""

    name: str
    method: Literal["GET", "POST"]
    path: str
    webhooks: Mapping[Version, Webhook]


RELAYED: tuple[RelayedCall, ...] = (
    RelayedCall(
        "accounts",
        "GET",
        "/tpp/accounts",
        {
            1: Webhook("/accounts", "account.list", Nothing, AccountsAnswerV1),
            2: Webhook("/v2_accounts", "accounts", Nothing, AccountsAnswerV2),
        },
    ),
    RelayedCall(
        "account",
        "GET",
        "/tpp/account",
        {
            1: Webhook("/account", "account.details", AccountRequestV1, AccountAnswerV1),
            2: Webhook("/v2_account", "accounts", AccountRequestV2, AccountAnswerV2, account_as_object),
        },
    ),
)
