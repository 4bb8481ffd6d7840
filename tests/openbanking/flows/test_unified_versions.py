"""Unified calls and the versions of banks: every call exists, and a consent keeps its version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.openbanking.protocol.versions import VERSIONS as BY_NUMBER
from chalicelib.openbanking.unified.calls import UNIFIED_PAYMENTS, UNIFIED_READS
from chalicelib.openbanking.unified.versions import UNIFIED_VERSIONS
from tests.causeway import Answer, Causeway
from tests.openbanking.accounts import change_bank
from tests.openbanking.examples import BY_WEBHOOK, SCOPES
from tests.openbanking.kit import VERSIONS
from tests.openbanking.payments import WEBHOOKS, unified_order
from tests.openbanking.unified.bodies import funds_body

ACCOUNT_ID = "A-1"
READ_WEBHOOKS = {
    "accounts": {1: "/accounts", 2: "/v2_accounts"},
    "account": {1: "/account", 2: "/v2_account"},
    "balances": {1: "/account_balance", 2: "/v2_account_balances"},
    "transactions": {1: "/account_payments", 2: "/v2_account_transactions"},
    "funds_confirmations": {1: "/funds_confirmations", 2: "/v2_funds_confirmations"},
}
"""The webhook of each unified read in each version."""
STATUS_WEBHOOKS = {"single": "/v2_payment_single_status", "bulk": "/v2_payment_bulk_status"}
PAID = {"single": "P-single", "bulk": "P-bulk", "direct": "P-direct"}
"""The payments of the banks' example responses."""
EVERY_READ = pytest.mark.parametrize("name", READ_WEBHOOKS)
EVERY_KIND = pytest.mark.parametrize("kind", PAID)


class UnifiedTpp:
    """A TPP with a consent for every scope of a version, at a bank with the webhooks of both versions."""

    def __init__(self, causeway: Causeway, version: int) -> None:
        self.causeway, self.version, self.bank = causeway, version, causeway.banks[version]
        self.bearer: str = causeway.tpp.tokens(version, scopes=SCOPES[version])["access_token"]
        for webhook, row in BY_WEBHOOK.items():
            self.bank.answers[webhook] = _always(row.answer)

    def change_version(self) -> int:
        """Let the bank change to the other version. Return this version."""
        other = 3 - self.version
        change_bank(self.causeway, self.version, api_version=other)
        return other

    def read(self, name: str) -> Answer:
        if name == "funds_confirmations":
            return self.call("POST", f"/tpp/unified/{name}", funds_body({"account.iban": "GB33BUKB20201555555555"}))
        query = "" if name == "accounts" else f"?account_id={ACCOUNT_ID}"
        return self.call("GET", f"/tpp/unified/{name}{query}")

    def pay(self, kind: str) -> Answer:
        paths: dict[str, str] = {call.kind: call.path for call in UNIFIED_PAYMENTS}
        order = unified_order(self.causeway, self.version, kind)
        return self.call("POST", paths[kind], order, needs_token=kind != "direct")

    def status(self, kind: str) -> Answer:
        bic = f"&bic={self.bank.bic}" if kind == "direct" else ""
        return self.call("GET", f"/tpp/unified/payments?payment_id={PAID[kind]}{bic}", needs_token=kind != "direct")

    def call(self, method: str, path: str, body: Any = None, *, needs_token: bool = True) -> Answer:
        self.bank.received.clear()
        return self.causeway.tpp.call(method, path, body, bearer=self.bearer if needs_token else None)

    @property
    def called(self) -> list[str]:
        """The webhooks that the last call made the hub call."""
        return [sent.path for sent in self.bank.received]


def _always(answer: Any) -> Callable[[object], Any]:
    return lambda _: answer


# -- every call exists in every version


def test_the_webhooks_of_this_module_are_those_of_all_unified_calls() -> None:
    assert [call.name for call in UNIFIED_READS] == [*READ_WEBHOOKS]
    assert {call.kind for call in UNIFIED_PAYMENTS} == {*PAID}


@pytest.mark.parametrize("version", UNIFIED_VERSIONS)
def test_the_native_call_of_a_unified_call_exists_in_its_version(version: int) -> None:
    natives = {UNIFIED_VERSIONS[version].read(call).native for call in UNIFIED_READS}

    assert UNIFIED_VERSIONS.keys() == BY_NUMBER.keys()
    assert natives <= BY_NUMBER[version].webhook_by_call.keys()
    assert UNIFIED_VERSIONS[version].payments.keys() == BY_NUMBER[version].payments.keys() == {*PAID}


@VERSIONS
def test_every_unified_call_succeeds_at_a_bank_of_either_version(causeway: Causeway, version: int) -> None:
    tpp = UnifiedTpp(causeway, version)

    answers = {name: tpp.read(name) for name in READ_WEBHOOKS}
    answers |= {f"{kind} payment": tpp.pay(kind) for kind in PAID}
    answers |= {f"{kind} status": tpp.status(kind) for kind in PAID}

    assert {name: answer.status for name, answer in answers.items()} == dict.fromkeys(answers, 200)


@VERSIONS
def test_a_unified_call_without_its_scope_is_blocked_in_either_version(causeway: Causeway, version: int) -> None:
    tpp = UnifiedTpp(causeway, version)
    for name in READ_WEBHOOKS | {"single": "", "bulk": ""}:
        scope_of_read = BY_WEBHOOK[READ_WEBHOOKS[name][version]].scope if name in READ_WEBHOOKS else None
        needed = scope_of_read or BY_WEBHOOK[WEBHOOKS[version, name]].scope
        tpp.bearer = causeway.tpp.tokens(version, scopes=[each for each in SCOPES[version] if each != needed])[
            "access_token"
        ]

        answer = tpp.read(name) if name in READ_WEBHOOKS else tpp.pay(name)

        assert (answer.status, answer.body["code"]) == (403, "SERVICE_BLOCKED")


# -- a bank changes its version after the consent


@EVERY_READ
@VERSIONS
def test_a_unified_read_is_in_the_version_of_the_consent(causeway: Causeway, version: int, name: str) -> None:
    tpp = UnifiedTpp(causeway, version)
    before = tpp.read(name)
    tpp.change_version()

    after = tpp.read(name)

    assert (after.status, after.body) == (200, before.body)
    assert tpp.called == [READ_WEBHOOKS[name][version]]


@pytest.mark.parametrize("kind", ["single", "bulk"])
@VERSIONS
def test_a_unified_payment_is_in_the_version_of_the_consent(causeway: Causeway, version: int, kind: str) -> None:
    tpp = UnifiedTpp(causeway, version)
    tpp.change_version()

    answer = tpp.pay(kind)

    assert (answer.status, answer.body["native_status"]) == (200, None if version == 1 else "RCVD")
    assert tpp.called == [WEBHOOKS[version, kind]]


@VERSIONS
def test_a_unified_direct_payment_is_in_the_current_version_of_the_bank(causeway: Causeway, version: int) -> None:
    tpp = UnifiedTpp(causeway, version)
    other = tpp.change_version()

    answer = tpp.pay("direct")

    assert (answer.status, answer.body["native_status"]) == (200, None if other == 1 else "RCVD")
    assert tpp.called == [WEBHOOKS[other, "direct"]]


@EVERY_KIND
@VERSIONS
def test_a_unified_status_is_in_the_version_of_the_payment(causeway: Causeway, version: int, kind: str) -> None:
    tpp = UnifiedTpp(causeway, version)
    tpp.pay(kind)
    before = tpp.status(kind)
    tpp.change_version()

    after = tpp.status(kind)

    assert (after.status, after.body) == (200, before.body)
    assert after.body["native_status"] == (
        "1" if version == 1 else BY_WEBHOOK[status_webhook(kind)].answer["transaction_status"]
    )
    assert tpp.called == ([] if version == 1 else [status_webhook(kind)])


def status_webhook(kind: str) -> str:
    return STATUS_WEBHOOKS["bulk" if kind == "bulk" else "single"]
