"""Renders the reference page of the conformance kit's checks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance.check import Check
from infra.conformance.checks import checks_of
from infra.conformance.subjects import subjects_of
from infra.render.docs.check_rules import section_of
from infra.render.openapi.introduction import table

Rows = Mapping[Version, Check]
"""The rows of one check, by each version that has the check."""
_CONSENTS, _ACCOUNTS, _HISTORY = "Connection and consents", "Account data", "Transaction history"
_PAYMENTS, _STATUSES, _CALLS = "Payments", "Payment statuses", "Calls to the hub"
_SUBJECTS: Mapping[str, str] = {"revocation": _CONSENTS, "data": _ACCOUNTS, "payment": _PAYMENTS, "status": _STATUSES}
_OF_HISTORY = ("account_payments", "account_payment", "account_transactions")
_OF_ONE_VERSION = re.compile(r", version \d+: /\S+")


def render() -> str:
    """Render a section for each group of checks, with a row for each check. Groups of the same subject are adjacent."""
    counts = ", ".join(f"{len(checks_of(version))} of version {version}" for version in VERSIONS.values())
    subjects = (_CONSENTS, _ACCOUNTS, _HISTORY, _PAYMENTS, _STATUSES, _CALLS)
    sections = {subject: [f"## {subject}"] for subject in subjects}
    for group, checks in groupby(_checks_by_group(), lambda rows: _any(rows).group):
        sections[_subject_of(group)] += _section(group, list(checks))
    return "\n\n".join([f"There are {counts}.", *(part for section in sections.values() for part in section)])


def _subject_of(group: str) -> str:
    if group.startswith("bank-"):
        return _CALLS
    if group in _OF_HISTORY:
        return _HISTORY
    roles = {each.role for version in VERSIONS.values() for each in subjects_of(version) if each.name == group}
    return next((_SUBJECTS[role] for role in roles), _CONSENTS)


def _section(group: str, listed: list[Rows]) -> Iterator[str]:
    yield f"### {group}"
    if paths := _paths(listed):
        yield paths
    yield table(("Check", "Rule", "It stands in", "Level", "Versions"), map(_row, listed))


def _checks_by_group() -> Iterator[Rows]:
    by_id: dict[str, dict[Version, Check]] = {}
    for version in VERSIONS.values():
        for check in checks_of(version):
            by_id.setdefault(check.check_id, {})[version] = check
    order = list(dict.fromkeys(_any(rows).group for rows in by_id.values()))
    return iter(sorted(by_id.values(), key=lambda rows: order.index(_any(rows).group)))


def _any(rows: Rows) -> Check:
    return next(iter(rows.values()))


def _paths(listed: list[Rows]) -> str:
    found = dict.fromkeys((check.path, version) for rows in listed for version, check in rows.items() if check.path)
    return ", ".join(f"`{path}` (version {version})" for path, version in found)


def _row(rows: Rows) -> tuple[str, ...]:
    check = _any(rows)
    levels = {version: each.level for version, each in rows.items()}
    level = (
        check.level
        if len(set(levels.values())) == 1
        else ", ".join(f"{level} in version {version}" for version, level in levels.items())
    )
    return f"`{check.check_id}`", check.rule, _stands(rows), level, ", ".join(map(str, rows))


def _stands(rows: Rows) -> str:
    """Return the rules on which a check is based, with links to the sections that explain the rules in each version."""
    links: dict[str, dict[str, Version]] = {}
    for version, check in rows.items():
        for rule in check.paragraph.split("; "):
            links.setdefault(_OF_ONE_VERSION.sub("", rule), {}).setdefault(section_of(rule, version), version)
    return "; ".join(_link(rule, found) for rule, found in links.items())


def _link(rule: str, found: Mapping[str, Version]) -> str:
    if len(found) == 1:
        return f"[{rule}](../{next(iter(found))})"
    return f"{rule}, version {', '.join(f'[{version}](../{section})' for section, version in found.items())}"
