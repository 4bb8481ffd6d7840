"""Tests of retries during a provider call: a retry waits briefly, gets 8001, and later gets the stored response."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from chalicelib.cards.payments.provider import ProviderSilent
from chalicelib.cards.payments.provider_completion import finish_due_payments
from chalicelib.cards.payments.sandbox_provider import SandboxProvider
from tests.cards.action_checks import call, check, is_repeat, request
from tests.cards.issuer import Issuer

pytestmark = pytest.mark.faults

ASKING = (
    "assignExternalPaymentAddress",
    "assignExternalPaymentAddressForSpecialAccount",
    "transferToExternalPayment",
    "inboundReturn",
    "directDebitReturn",
    "directCreditReturn",
)
"""Actions that return the provider's result in their response."""


@contextmanager
def silence() -> Iterator[None]:
    """Let every provider call time out before the provider receives the call."""
    with ExitStack() as patches:
        for name in ("open_address", "submit"):
            patches.enter_context(patch.object(SandboxProvider, name, side_effect=ProviderSilent("nobody there")))
        yield


def finish(issuer: Issuer) -> None:
    issuer.with_own_clock(days=2 / (24 * 60)).hub.cards.call(finish_due_payments)


@pytest.mark.parametrize("action", ASKING)
def test_a_retry_returns_8001_until_the_provider_responds_and_then_the_stored_response(
    issuer: Issuer, action: str
) -> None:
    members = request(issuer, action)
    other_body = members | {"access_level": members["access_level"] - 1}
    with silence():
        first = call(issuer, action, members)

    meanwhile = [call(issuer, action, members) for issuer in (issuer, issuer.with_own_clock())]
    assert [answer.status_code for answer in (first, *meanwhile)] == [8001, 8001, 8001]
    assert call(issuer, action, other_body).status_code == 8002

    finish(issuer)
    afterwards = [
        call(issuer, action, members) for issuer in (issuer, issuer.with_own_clock(), issuer.with_own_clock(days=29))
    ]
    assert {(answer.status, answer.duplicated) for answer in afterwards} == {("success", 1)}
    assert len({answer.raw for answer in afterwards}) == 1
    for row in afterwards[0].data if type(afterwards[0].data) is list else [afterwards[0].data]:
        check(action, row)
    assert call(issuer, action, other_body).status_code == 8002


@pytest.mark.parametrize("action", ASKING)
def test_a_retry_waits_briefly_for_the_stored_response(issuer: Issuer, action: str) -> None:
    members = request(issuer, action)
    with silence():
        first = call(issuer, action, members)

    with issuer.causeway.meanwhile("wait", lambda: finish(issuer)):
        repeat = call(issuer, action, members)

    assert first.status_code == 8001
    assert repeat.status == "success"
    assert repeat.duplicated == 1


@pytest.mark.parametrize("action", ASKING)
def test_a_retry_during_the_provider_call_returns_8001_and_makes_no_second_call(issuer: Issuer, action: str) -> None:
    members, meanwhile = request(issuer, action), []
    asked = "open_address" if action.startswith("assign") else "submit"
    really = getattr(SandboxProvider, asked)

    def ask(provider: SandboxProvider, order: Any) -> Any:
        meanwhile.append(call(issuer.with_own_clock(), action, members))
        return really(provider, order)

    with patch.object(SandboxProvider, asked, ask):
        first = call(issuer, action, members)

    assert [answer.status_code for answer in meanwhile] == [8001], "and the provider is asked once"
    assert first.status == "success"
    assert is_repeat(first, call(issuer, action, members))


@pytest.mark.parametrize("name", ["account_name", "destination_account_name"])
def test_a_late_rejection_by_the_provider_is_returned_to_retries(issuer: Issuer, name: str) -> None:
    action = "assignExternalPaymentAddress" if name == "account_name" else "transferToExternalPayment"
    members = request(issuer, action) | {name: "Refuse me"}
    with silence():
        assert call(issuer, action, members).status_code == 8001

    finish(issuer)
    answers = [call(issuer, action, members) for _ in range(2)]

    assert {(answer.status_code, answer.duplicated) for answer in answers} == {(7001, 1)}
    assert answers[0].raw == answers[1].raw
