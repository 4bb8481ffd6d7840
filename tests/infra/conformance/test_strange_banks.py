"""Unusual responses of a bank never cause an internal error of the conformance kit."""

from typing import Any

import pytest

from chalicelib.foundation import jsontext
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import Webhook
from infra.conformance.checks import checks_of
from infra.conformance.runner import KIT_FAILED
from infra.conformance.selection import select
from tests.infra.conformance.kit_runs import connected, run_checks, run_kit
from tests.infra.conformance.small_bank import Answer, Members, SmallBank

VALUES: tuple[Any, ...] = (None, "x\x00\x1b", [[]], {"a": {}})
BODIES = (b"", b"null", b"[1]", b"\xff\xfe", b'{"status": "success", "status": "error"}', b"[" * 5000)


def replaced(value: Any, depth: int, other: Any) -> Any:
    if depth == 0:
        return other
    if isinstance(value, dict):
        return {name: each if name == "status" else replaced(each, depth - 1, other) for name, each in value.items()}
    return [replaced(each, depth, other) for each in value] if isinstance(value, list) else value


def strange(depth: int, other: Any) -> type[SmallBank]:
    class Strange(SmallBank):
        def shape(self, webhook: Webhook, members: Members) -> Members:
            changed: Members = replaced(members, depth, other)
            return changed

    return Strange


@pytest.mark.parametrize("version", VERSIONS.values(), ids=str)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_bank_responses_with_members_of_any_type_cause_no_kit_error(version: Version, value: Any) -> None:
    for depth in (1, 2):
        run = run_kit(strange(depth, value)(version), "account*,funds*,payment-single,bank-report_status")

        assert [each.check.check_id for each in run.results if KIT_FAILED in each.problem] == []
        assert run.has_failed or depth > 1


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:8]))
def test_responses_with_any_body_cause_no_kit_error(body: bytes) -> None:
    class Strange(SmallBank):
        def finish(self, webhook: Webhook, answer: Answer) -> Answer:
            return Answer(answer.status, body)

    run = run_kit(Strange(VERSIONS[2]))

    assert [each.check.check_id for each in run.results if KIT_FAILED in each.problem] == []
    assert run.has_failed


def test_responses_with_unusual_header_characters_cause_no_kit_error() -> None:
    class Strange(SmallBank):
        def finish(self, webhook: Webhook, answer: Answer) -> Answer:
            return Answer(answer.status, b"", {"Content-Type": "application/json", "X-Odd": "\x7f é"})

    with connected(Strange(VERSIONS[2])) as session:
        run = run_checks(session, select(checks_of(VERSIONS[2]), "accounts,payment-single"))

    assert [each.check.check_id for each in run.results if KIT_FAILED in each.problem] == []
    assert run.has_failed


def test_calls_with_members_of_any_type_cause_no_kit_error() -> None:
    class Strange(SmallBank):
        def call(self, path: str, **members: Any) -> Members:
            super().call(path, **members)
            return super().call(path, **dict.fromkeys(members, jsontext.Number("1e5")))

    run = run_kit(Strange(VERSIONS[1]), "consent,cancel,bank-*")

    assert [each.check.check_id for each in run.results if KIT_FAILED in each.problem] == []
    assert run.has_failed
