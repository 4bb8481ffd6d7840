"""The command for banks' logos."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chalicelib.openbanking.records.bank_logos import logo_path
from infra.admin import connection
from infra.admin.banks import BicArgument, group
from infra.admin.output import CommandRefused, Report, command


@command(group, "logo")
def logo(
    bic: BicArgument,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A PNG, JPEG or SVG file of at most 100 KB.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the logo.")] = False,
) -> Report:
    """Set or remove a bank's logo, which is shown by clients and on the bank selection page.

    An SVG file may contain drawing elements, and the metadata and comments of drawing programs. It must not contain
    scripts, event handlers, links, pictures, animations, a document type, or references to other files.

    PNG and JPEG files have at most 2,000 pixels in each direction. The text and other ancillary chunks of a PNG file
    are not stored. To limit the time that browsers need to draw an SVG file, it must not repeat too much content by
    reference, and must not have dashes, filter functions or text shadows. Coordinates must not exceed 1,000,000 or,
    after all transforms, 2,000 times the size of the drawing.

    \b
    Examples:
      .venv/bin/python -m infra.admin banks logo DEMOGB21 bank.svg
      .venv/bin/python -m infra.admin banks logo DEMOGB21 --remove
    """
    if (file is None) != remove:
        raise CommandRefused("name a file, or pass --remove")
    hub = connection.connect()
    banks = hub.openbanking.banks
    bank = banks.remove_logo(bic) if file is None else banks.set_logo(bic, read_file(file))
    path = logo_path(bank.bic, bank.logo_digest)
    url = f"{hub.settings.public_url}{path}" if path else None
    text = f"{bank.bic} has the logo {url}" if url else f"{bank.bic} has no logo."
    return Report({"bic": bank.bic, "logo_url": url, "logo_type": bank.logo_type}, text)


def read_file(path: Path) -> bytes:
    """Read a file that the operator named. Raises: CommandRefused."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandRefused(f"{path} cannot be read: {error.strerror}") from None
