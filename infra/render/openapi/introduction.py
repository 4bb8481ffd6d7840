"""The tables in the documents' introductions, generated from the protocol's tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from chalicelib.openbanking.protocol.errors import ADDED_CODES, ADDITIONAL, VERSION_1, VERSION_2
from chalicelib.openbanking.protocol.payment_enumerations import SCHEME_MEANINGS
from chalicelib.openbanking.protocol.payment_statuses import Status, Statuses
from chalicelib.openbanking.protocol.scopes import Scope
from chalicelib.openbanking.protocol.unified_scopes import NATIVE_SCOPES, UNIFIED_SCOPES
from chalicelib.openbanking.protocol.v2_account_messages import BALANCE_TYPES
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.webhooks import PAYMENTS, RELAYED

NUMBERS = """\
A JSON number keeps its digits only if the parser keeps them: one that uses binary floating point, such as JavaScript's
`JSON.parse`, reads `9733.70` as 9733.7, and changes whole numbers above 2^53 (9007199254740992). Read numbers as
decimal text, or with a lossless parser.
"""
"""The precision of JSON numbers, for the introduction of every document."""
_UNIFIED = """\
A unified scope stands for native scopes of the bank's version. A request names either unified or native scopes. Banks
receive native scopes only. In responses, the `scope` of tokens repeats the names of the request, `scopes` is native,
and `unified_scopes` lists the unified scopes that are granted, or offered, entirely.
"""


def table(heading: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def scopes(*versions: Version) -> str:
    rows = [
        (version, f"`{scope.name}`", scope.service, scope.meaning, ", ".join(_calls_using(version, scope)))
        for version in versions
        for scope in version.scopes.values()
    ]
    return section("Scopes", table(("Version", "Scope", "Service", "Meaning", "Used by"), rows))


def unified_scopes(*versions: Version) -> str:
    return section("Unified scopes", f"{_UNIFIED}\n{unified_scopes_table(*versions)}")


def unified_scopes_table(*versions: Version) -> str:
    """Return the unified scopes with the native scopes of each version."""
    rows = [
        (f"`{scope.name}`", scope.service, scope.meaning, *(_translations(scope, version) for version in versions))
        for scope in UNIFIED_SCOPES.values()
    ]
    return table(("Scope", "Service", "Meaning", *(f"Version {version}" for version in versions)), rows)


def _translations(scope: Scope, version: Version) -> str:
    return " ".join(f"`{name}`" for name in NATIVE_SCOPES[version.number].get(scope.name, ()))


def _calls_using(version: Version, scope: Scope) -> Iterator[str]:
    calls = [(call, call.method) for call in RELAYED] + [(call, "POST") for call in PAYMENTS]
    for call, method in calls:
        webhook = version.webhook_by_call.get(call)
        if webhook and webhook.scope == scope:
            yield f"`{method} {call.path}`"


def schemes(*versions: Version) -> str:
    rows = [
        (f"`{name}`", ", ".join(str(version) for version in versions if name in version.schemes), meaning)
        for name, meaning in SCHEME_MEANINGS.items()
        if any(name in version.schemes for version in versions)
    ]
    return section("Payment schemes", table(("Scheme", "Versions", "Meaning"), rows))


def statuses(*versions: Version) -> str:
    rows = [
        (version, f"`{status}`", meaning, _finality(version.statuses, status))
        for version in versions
        for status, meaning in version.statuses.meanings.items()
    ]
    return section("Payment statuses", table(("Version", "Status", "Meaning", "Final"), rows))


def _finality(statuses: Statuses, status: Status) -> str:
    later = [f"`{other}`" for other in statuses.meanings if statuses.may_follow(status, other)]
    if len(later) == len(statuses.meanings) - 1:
        return "no"
    return f"yes, except for {', '.join(later)}" if later else "yes"


_ADDED = " (a code of the Berlin Group's NextGenPSD2, not of version 2)"


def balance_types() -> str:
    rows = [(f"`{name}`", meaning) for name, meaning in BALANCE_TYPES.items()]
    return section("Balance types (version 2)", table(("Type", "Meaning"), rows))


def codes_of_version_1() -> str:
    rows = [(f"`{code}`", row.status, row.meaning) for code, row in VERSION_1.items()]
    return section("Error codes", table(("Code", "HTTP status", "Meaning"), rows))


def codes_of_version_2(*without: str) -> str:
    rows = [
        (f"`{code}`", row.status, row.meaning + (_ADDED if code in ADDED_CODES else ""))
        for code, row in VERSION_2.items()
        if code not in without
    ]
    more = [(f"`{code}`", meaning) for code, meaning in ADDITIONAL.items()]
    return "\n\n".join(
        [
            section("Error codes", table(("Code", "HTTP status", "Meaning"), rows)),
            section("Additional error codes", table(("Code", "Meaning"), more)),
        ]
    )


def section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}"
