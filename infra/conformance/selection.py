"""The selection of checks, ``ONLY``: ids, groups and patterns, separated by commas."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from infra.conformance.check import Check


class UnknownChecks(ValueError):
    """The selection is empty, or one of its parts matches no check. The message contains this part and the names of all
    groups.
    """


def select(checks: Sequence[Check], only: str) -> list[Check]:
    """Return the checks that ``only`` selects, in order; all checks if ``only`` is empty.

    A part is an id (``accounts.answer-form``), the beginning of ids up to a dot (``accounts``) or a pattern with
    ``*`` or ``?`` (``*.signature-*``).

    Raises:
        UnknownChecks.
    """
    if not only:
        return list(checks)
    parts = [part.strip() for part in only.split(",") if part.strip()]
    unknown = [part for part in parts if not any(_is_named(check, part) for check in checks)]
    if unknown or not parts:
        raise UnknownChecks(_explain(checks, unknown))
    return [check for check in checks if any(_is_named(check, part) for part in parts)]


def _explain(checks: Sequence[Check], unknown: Sequence[str]) -> str:
    groups = list(dict.fromkeys(check.group for check in checks))
    names = [*groups, *(check.check_id for check in checks)]
    said = ", ".join(
        " ".join([part, *(f"({name}?)" for name in get_close_matches(part, names, n=1))]) for part in unknown
    )
    begin = f"no check of this version is named {said}" if unknown else "the choice of checks names none"
    return f"{begin}; the groups are {', '.join(groups)}"


def _is_named(check: Check, part: str) -> bool:
    return check.check_id == part or check.check_id.startswith(f"{part}.") or fnmatchcase(check.check_id, part)
