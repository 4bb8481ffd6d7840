"""The table of conformance checks is complete, consistent and documented."""

import re
from collections import Counter

import pytest

from chalicelib.openbanking.protocol.bank_calls import BANK_CALLS
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance.check import Check
from infra.conformance.checks import checks_of
from infra.conformance.checks.requests import mandatory_members
from infra.conformance.evidence import Evidence
from infra.conformance.runner import KIT_FAILED, run_check
from infra.conformance.session import Session
from infra.conformance.subjects import subjects, subjects_of
from tests.infra.conformance.kit_runs import session_with
from tests.infra.conformance.small_bank import SmallBank

BY_VERSION = pytest.mark.parametrize("version", VERSIONS.values(), ids=str)


@BY_VERSION
def test_each_protocol_version_has_at_least_80_conformance_checks(version: Version) -> None:
    found = checks_of(version)

    assert len(found) >= 80
    assert sum(check.level == "mandatory" for check in found) >= 80


@BY_VERSION
def test_every_conformance_check_has_a_unique_id_a_title_a_paragraph_and_an_expectation(version: Version) -> None:
    found = checks_of(version)

    assert [each for each, count in Counter(check.check_id for check in found).items() if count > 1] == []
    for check in found:
        assert re.fullmatch(r"[a-z_-]+\.[A-Za-z0-9_.-]+", check.check_id)
        assert check.title
        assert check.paragraph.startswith(("Specification, ", "Bank integration: "))
        assert check.expected


@BY_VERSION
def test_every_webhook_and_every_call_of_the_bank_has_conformance_checks(version: Version) -> None:
    groups = {check.group for check in checks_of(version)}
    paths = {subject.webhook.path for subject in subjects_of(version)}

    assert paths == {webhook.path for webhook in version.webhooks}
    assert groups >= {subject.name for subject in subjects_of(version)}
    assert groups >= {f"bank-{call.name}" for call in BANK_CALLS if call.name in version.calls}


@BY_VERSION
def test_valid_conformance_requests_are_accepted_by_the_webhook_models(version: Version) -> None:
    session = session_with(SmallBank(version))
    for subject in subjects(session).values():
        subject.webhook.request.read(session.request(subject))


@BY_VERSION
def test_signature_checks_are_mandatory_if_the_version_demands_signatures(version: Version) -> None:
    levels = {check.level for check in checks_of(version) if ".signature-" in check.check_id}

    assert levels == {"mandatory" if version.signature_required else "advice"}


def test_the_mandatory_members_function_lists_nested_members_with_their_paths() -> None:
    found = set(mandatory_members(VERSIONS[2].payments["bulk"].request))

    assert {("callback_url",), ("payments", "0", "instructed_amount", "amount")} <= found
    assert ("debtor_account",) not in found


def test_an_internal_error_of_the_conformance_kit_skips_the_check() -> None:
    def fail(session: Session) -> Evidence:
        raise TypeError("of the kit")

    check = Check("a.b", "a rule", "Specification, 1", "mandatory", "nothing", fail)
    result = run_check(session_with(SmallBank(VERSIONS[2])), check)

    assert (result.outcome, result.problem) == ("skipped", f"{KIT_FAILED}: TypeError")
