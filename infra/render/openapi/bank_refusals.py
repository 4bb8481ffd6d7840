"""The webhook refusals for which the Python package has classes: causes, error codes and statuses."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from chalicelib.openbanking.protocol.version import Version
from infra.render import sdk_package
from infra.render.openapi.introduction import section, table

_INTRODUCTION: Mapping[int, str] = {
    1: "A bank says why it refuses a webhook with `error_code` (a number) and `message`; both reach the TPP. The codes "
    "are the bank's own, and only those of the token have a meaning to the service: with 4201 and 4202, and with "
    "status 401 without a code, the TPP learns that the PSU must authorize again. Use these codes where they fit, and "
    "other numbers, which no table on this page has, for everything else.",
    2: "A bank says why it refuses a webhook with `code` and `title`; both reach the TPP. The codes may be the bank's "
    "own, and only that of the token has a meaning to the service: with `AUTHENTICATION_REQUIRED`, and with status 401 "
    "without a code, the TPP learns that the PSU must authorize again. Use these codes where they fit, and other "
    "names, which no table on this page has, for everything else.",
}


def refusals() -> Iterator[Any]:
    """Return the classes of ``causeway.bank.refusals``, which have ``status``, ``code_v1`` and ``code_v2``."""
    module = sdk_package.load("bank.refusals")
    for found in vars(module).values():
        if isinstance(found, type) and issubclass(found, module.Refused) and found is not module.Refused:
            yield found


def refusals_of_banks(version: Version) -> str:
    """Return the documentation section about the error codes with which a bank refuses webhooks."""
    rows = [(f"`{getattr(each, f'code_v{version}')}`", each.status, _occasion(each)) for each in refusals()]
    text = f"{_INTRODUCTION[version.number]}\n\n{table(('Code', 'HTTP status', 'When'), rows)}"
    return section("Refusals of webhooks", text)


def _occasion(refusal: Any) -> str:
    said = inspect.cleandoc(refusal.__doc__).partition(".")[0].partition("; ``")[0]
    return " ".join(said.split()).replace("``", "`")
