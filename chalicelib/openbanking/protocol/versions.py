"""The versions of the bank protocol. To add a version, write a module like ``v1_version`` and extend ``VERSIONS``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chalicelib.openbanking.protocol import v1_version, v2_version
from chalicelib.openbanking.protocol.errors import version_2_error
from chalicelib.openbanking.protocol.payment_statuses import Statuses
from chalicelib.openbanking.protocol.scopes import Scope, Service
from chalicelib.openbanking.protocol.unified_scopes import UNIFIED_SCOPES
from chalicelib.openbanking.protocol.version import BANK_ROOT, Errors, Version

VERSIONS: Mapping[int, Version] = {version.number: version for version in (v1_version.VERSION, v2_version.VERSION)}
"""The versions by number, oldest first."""


def scope_tables() -> list[Mapping[str, Scope]]:
    """The tables of scopes: the unified scopes and those of each version. A request names scopes of one table."""
    return [UNIFIED_SCOPES, *(version.scopes for version in VERSIONS.values())]


def scope_names() -> list[str]:
    """The names of all scopes, the unified scopes first."""
    return list(dict.fromkeys(name for table in scope_tables() for name in table))


def services_of(scopes: Iterable[str]) -> set[Service]:
    """The PSD2 services of unified scopes and of scopes of any version; unknown scopes have none."""
    tables = scope_tables()
    return {table[name].service for name in scopes for table in tables if name in table}


def version_below(route: str) -> Version | None:
    """Return the version with ``route`` in its bank-facing API, or ``None`` for ``/bank`` itself and other routes."""
    if route == BANK_ROOT:
        return None
    found = [version for version in VERSIONS.values() if f"{route}/".startswith(f"{version.base}/")]
    return max(found, key=lambda version: len(version.base), default=None)


def errors_of(route: str) -> Errors:
    """Return the error format of a route. All routes for TPPs use the error format of version 2."""
    version = version_below(route)
    return version.errors if version else version_2_error


def translate_status(value: object, statuses: Statuses) -> int | str | None:
    """Convert a status of any version to the version of ``statuses``. Return ``None`` if no version has this status."""
    found = (version.statuses.read(value) for version in VERSIONS.values())
    neutral = next((each for each in found if each is not None), None)
    return None if neutral is None else statuses.write(neutral)
