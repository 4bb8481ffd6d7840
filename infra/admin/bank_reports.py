"""The commands that publish banks' conformance reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infra.admin import connection
from infra.admin.bank_logos import read_file
from infra.admin.banks import BicArgument, group
from infra.admin.output import Report, command


@command(group, "publish-report")
def publish_report(
    bic: BicArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="report.json of the conformance kit, at most 8 MB.")],
) -> Report:
    """Publish a bank's conformance report at /banks/BIC/conformance, in place of the previous report.

    The page is public. It shows the outcome of every check and, for failed checks, the beginning of the exchanged
    messages, which may contain data of the test's PSU. A report with an unmasked secret is refused.

    \b
    Example:
      .venv/bin/python -m infra.admin banks publish-report DEMOGB21 build/conformance/report.json
    """
    hub = connection.connect()
    bank = hub.openbanking.banks.publish_report(bic, read_file(file))
    url = f"{hub.settings.public_url}/banks/{bank.bic}/conformance"
    return Report({"bic": bank.bic, "url": url, **(bank.conformance or {})}, f"The report is published: {url}")


@command(group, "unpublish-report")
def unpublish_report(bic: BicArgument) -> Report:
    """Delete a bank's published conformance report.

    \b
    Example:
      .venv/bin/python -m infra.admin banks unpublish-report DEMOGB21
    """
    bank = connection.connect().openbanking.banks.unpublish_report(bic)
    return Report({"bic": bank.bic}, f"No report about {bank.bic} is published.")
