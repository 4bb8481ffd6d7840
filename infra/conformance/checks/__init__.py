"""The checks of the kit, by protocol version. To add a check, add a row to the module for its topic."""

from __future__ import annotations

from chalicelib.openbanking.protocol.version import Version
from infra.conformance.check import Check
from infra.conformance.checks import (
    accounts,
    authorization,
    bank_calls,
    connection,
    history,
    pages,
    payments,
    requests,
    spelled_values,
    transaction_ids,
    webhooks,
)
from infra.conformance.subjects import subjects_of


def checks_of(version: Version) -> list[Check]:
    """Return all checks of a version in the order of execution.

    Checks that end a consent run after all checks that need the consent. First, the kit ends a consent; the following
    checks expect that the token of this consent is refused. At the end, the PSU ends a consent at the bank.
    """
    found = [*connection.checks(version), *authorization.checks(version)]
    for subject in subjects_of(version):
        found += [*webhooks.checks(version, subject), *requests.checks(version, subject)]
        for module in (accounts, pages, history, transaction_ids, spelled_values):
            found += module.checks(version, subject)
        if subject.role == "payment":
            found += payments.checks(version, subject)
    found += authorization.ending_checks(version)
    found += bank_calls.checks(version)
    return found
