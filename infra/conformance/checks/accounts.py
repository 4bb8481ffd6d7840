"""Checks of account data in responses: lists, details, balances and the availability of funds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chalicelib.foundation.fields.ibans import is_iban
from chalicelib.foundation.fields.registries import currencies
from chalicelib.openbanking.flows.consent.permissions import is_approved
from chalicelib.openbanking.protocol.v2_account_messages import BALANCE_TYPES
from chalicelib.openbanking.protocol.version import Version
from infra.conformance.check import Check
from infra.conformance.checks import content_rows
from infra.conformance.checks.content_rows import Row, answered
from infra.conformance.checks.judging import RULES, demand, require_answer, require_refused
from infra.conformance.evidence import CheckFailed, CheckSkipped, Evidence
from infra.conformance.requests import EXAMPLES, UNKNOWN_ID
from infra.conformance.session import Session
from infra.conformance.subjects import Subject, subjects


def checks(version: Version, subject: Subject) -> list[Check]:
    """Return the checks of one webhook's response content."""
    rows = list(_ROWS.get(subject.name, ()))
    if "account_id" in subject.webhook.request.model_fields:
        rows.append(_UNKNOWN_ACCOUNT)
    return content_rows.build(version, subject, rows)


# -- accounts and balances


def _approved(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    saved = session.attempt("main").authorization.saved[-1].request
    accounts = {
        "ibans": list(saved.ibans or ()),
        "account_ids": list(saved.account_ids or ()),
        "account_numbers": list(saved.account_numbers or ()),
    }
    member = subject.webhook.account_id or ""
    withheld = [index for index, each in enumerate(answer["accounts"]) if not is_approved(accounts, each, member)]
    said = f"not in the consent: {', '.join(f'accounts.{index}' for index in withheld)}"
    return demand(not withheld, call.evidence, said)


def _complete(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    member = subject.webhook.account_id or ""
    missing = [
        f"customer.accounts.{position}"
        for position, account in enumerate(session.bank.accounts)
        if not any(_is_listed(account.model_dump(exclude_none=True), each, member) for each in answer["accounts"])
    ]
    return demand(not missing, call.evidence, f"not listed, or with other identifiers: {', '.join(missing)}")


def _is_listed(account: Mapping[str, Any], listed: Mapping[str, Any], id_member: str) -> bool:
    """Return whether two objects have at least one identifier in common, and whether all their common identifiers are
    equal.
    """
    pairs = [
        (value, str(listed[named]).replace(" ", ""))
        for name, value in account.items()
        if listed.get(named := id_member if name == "account_id" else name) is not None
    ]
    return len(pairs) > 1 and all(value.replace(" ", "") == other for value, other in pairs)


def _identifiers(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    problems = list(_wrong_identifiers(answer["accounts"]))
    return demand(not problems, call.evidence, "; ".join(problems))


def _wrong_identifiers(accounts: list[Mapping[str, Any]]) -> Iterator[str]:
    for index, account in enumerate(accounts):
        iban = account.get("iban")
        if isinstance(iban, str) and iban and not is_iban(iban.replace(" ", "").upper()):
            yield f"accounts.{index}.iban is not a valid IBAN"
        if account.get("currency") not in currencies():
            yield f"accounts.{index}.currency is not a currency (ISO 4217)"


def _same(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    listing = subjects(session)["accounts"]
    listed = session.good_answer(listing)["accounts"]
    member = listing.webhook.account_id or ""
    account = answer["account"]
    twin = next((each for each in listed if str(each[member]) == str(account[member])), None)
    if twin is None:
        raise CheckFailed(call.evidence, f"{listing.webhook.path} lists no account with this {member}")
    names = {"iban", "bban", "account_number", "sort_code", "currency"} & account.keys() & twin.keys()
    other = sorted(name for name in names if account[name] != twin[name])
    return demand(not other, call.evidence, f"{', '.join(other)} differ from {listing.webhook.path}")


def _unknown_account(session: Session, subject: Subject) -> Evidence:
    members = {name: value for name, value in session.request(subject).items() if name != "iban"}
    call = session.send(subject, {**members, "account_id": UNKNOWN_ID})
    return require_refused(session, subject, call)


_UNKNOWN_ACCOUNT: Row = (
    "unknown-account",
    "refuses an account that the consent does not have",
    RULES.format(section="Webhooks"),
    "mandatory",
    "The consent does not cover the account, so the call is refused with an error",
    _unknown_account,
)


def _balance_currency(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    rows = answer.get("accounts") or [each["balance_amount"] for each in answer.get("balances", ())]
    found = {each["currency"] for each in rows}
    said = f"no balance is in {session.account.currency}"
    return demand(session.account.currency in found, call.evidence, said)


def _balance_types(session: Session, subject: Subject) -> Evidence:
    call, answer = answered(session, subject)
    if "balances" not in answer:
        raise CheckSkipped("balances of this version have no type")
    other = sorted({str(each["balance_type"]) for each in answer["balances"]} - BALANCE_TYPES.keys())
    return demand(not other, call.evidence, f"not a balance_type: {', '.join(other)}")


# -- funds


def _too_much(session: Session, subject: Subject) -> Evidence:
    asked = EXAMPLES[session.version].funds(session.account, session.bank.payment.declined_amount)
    if asked is None:
        raise CheckSkipped("customer.accounts.0 has no identifier for confirmations of funds")
    call = session.send(subject, asked)
    answer = subject.webhook.to_tpp_answer(asked, dict(require_answer(session, subject, call)))
    return demand(answer["funds_available"] is False, call.evidence, "payment.declined_amount is covered")


_ROWS: Mapping[str, tuple[Row, ...]] = {
    "accounts": (
        (
            "approved",
            "lists accounts of the consent only",
            RULES.format(section="Webhooks"),
            "mandatory",
            "No account is listed whose identifiers the consent does not have: the hub would withhold it",
            _approved,
        ),
        (
            "complete",
            "lists the accounts of the file with the same identifiers",
            RULES.format(section="Webhooks"),
            "advice",
            "Every account of customer.accounts is listed; identifiers are complete, with leading zeros",
            _complete,
        ),
        (
            "identifiers",
            "has valid IBANs and currencies",
            "",
            "advice",
            "iban is a valid IBAN, currency is a code of ISO 4217",
            _identifiers,
        ),
    ),
    "account": (
        ("same", "agrees with the list of accounts", "", "advice", "Identifiers and currency are the same", _same),
    ),
    "account_balance": (
        (
            "currency",
            "has a balance in the account's currency",
            "",
            "advice",
            "A balance is in the currency of customer.accounts.0",
            _balance_currency,
        ),
        (
            "types",
            "has known balance types",
            "Specification, Enumerations: balance_type",
            "advice",
            f"balance_type is one of {', '.join(BALANCE_TYPES)}",
            _balance_types,
        ),
    ),
    "funds_confirmations": (
        (
            "too-much",
            "denies an amount above the balance",
            "",
            "advice",
            "payment.declined_amount of the file is not covered",
            _too_much,
        ),
    ),
}
