"""The choice of checks, ``ONLY``: ids, groups and patterns, separated by commas."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from infra.conformance.check import Check


class UnknownChecks(ValueError):
    """A part of the choice matches no check; the message names it and the groups that there are."""


def select(checks: Sequence[Check], only: str) -> list[Check]:
    """The checks that ``only`` names, in their order; all if it is empty.

    A part is an id (``accounts.answer-form``), the beginning of ids up to a dot (``accounts``) or a pattern with
    ``*`` or ``?`` (``*.signature-*``).

    Raises:
        UnknownChecks.
    """
    parts = [part.strip() for part in only.split(",") if part.strip()]
    if not parts:
        return list(checks)
    unknown = [part for part in parts if not any(_is_named(check, part) for check in checks)]
    if unknown:
        groups = ", ".join(dict.fromkeys(check.group for check in checks))
        raise UnknownChecks(f"no check of this version is named {', '.join(unknown)}; the groups are {groups}")
    return [check for check in checks if any(_is_named(check, part) for part in parts)]


def _is_named(check: Check, part: str) -> bool:
    return check.check_id == part or check.check_id.startswith(f"{part}.") or fnmatchcase(check.check_id, part)
