"""The webhooks under test, with a valid request for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from chalicelib.openbanking.protocol.payment_enumerations import Kind
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import Webhook
from infra.conformance import requests
from infra.conformance.bank_file import AccountPart, BankUnderTest
from infra.conformance.evidence import CheckSkipped
from infra.conformance.requests import EXAMPLES, Members, Order


class RequestSource(Protocol):
    """The part of a run that provides the data for valid requests."""

    bank: BankUnderTest
    version: Version

    @property
    def account(self) -> AccountPart: ...

    def token(self, name: Literal["ended"]) -> str: ...

    def order(self, *amounts: str) -> tuple[str, Order]: ...

    def good_answer(self, subject: Subject) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A webhook under test: its name in check ids, and the valid request.

    Attributes:
        kind: the kind of payment, for initiations and status queries.
    """

    name: str
    webhook: Webhook
    role: Literal["data", "payment", "status", "revocation"]
    request: Callable[[RequestSource], Members]
    kind: Kind | None = None


def subjects(session: RequestSource) -> Mapping[str, Subject]:
    """Return the webhooks of a session's version, by name."""
    return {subject.name: subject for subject in subjects_of(session.version)}


def subjects_of(version: Version) -> list[Subject]:
    """Return the webhooks of a version under test, in the order of their checks."""
    found = [Subject("revoke_token", version.revoke_token, "revocation", lambda s: {"access_token": s.token("ended")})]
    found += [Subject(name, webhook, "data", _DATA[name]) for name, webhook in version.relayed.items()]
    for kind, webhook in version.payments.items():
        found.append(Subject(f"payment-{kind}", webhook, "payment", _initiation(kind), kind))
    for kind, webhook in version.payment_status.items():
        if all(each.webhook is not webhook for each in found):
            found.append(Subject(f"status-{kind}", webhook, "status", _status_query(kind), kind))
    return found


def _account(session: RequestSource) -> Members:
    named = EXAMPLES[session.version].account(session.account)
    if named is None:
        raise CheckSkipped("customer.accounts.0 does not say how the bank names the account")
    return named


def _funds(session: RequestSource) -> Members:
    asked = EXAMPLES[session.version].funds(session.account, session.bank.payment.amount)
    if asked is None:
        raise CheckSkipped("customer.accounts.0 has no identifier for confirmations of funds")
    return asked


def _listed_payment(session: RequestSource) -> Members:
    history = subjects(session)["account_payments"]
    listed = session.good_answer(history)["payments"]
    if not listed:
        raise CheckSkipped("the account has no payments")
    return {"payment_id": str(listed[0]["id"])}


_DATA: Mapping[str, Callable[[RequestSource], Members]] = {
    "accounts": lambda _: {},
    "account": _account,
    "account_balance": _account,
    "account_payments": lambda session: EXAMPLES[session.version].history(_account(session)),
    "account_payment": _listed_payment,
    "account_transactions": lambda session: EXAMPLES[session.version].history(_account(session)),
    "funds_confirmations": _funds,
}


def _initiation(kind: Kind) -> Callable[[RequestSource], Members]:
    def request(session: RequestSource) -> Members:
        amounts = [session.bank.payment.amount] * (2 if kind == "bulk" else 1)
        return requests.payment_request(session.bank, kind, session.order(*amounts)[1])

    return request


def _status_query(kind: Kind) -> Callable[[RequestSource], Members]:
    def request(session: RequestSource) -> Members:
        answer = session.good_answer(subjects(session)[f"payment-{kind}"])
        return {"payment_id": str(answer["payment_id"])}

    return request
