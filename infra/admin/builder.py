"""Builds the command-line program: command groups, help, and usage errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from chalicelib.foundation.version import VERSION
from infra.admin.output import command

GROUPS = (
    *("audit", "banks", "certificates", "clients", "clock", "consents", "customers", "deliveries", "keys", "ledger"),
    *("payments", "programme", "retention", "statistics", "users"),
)
UNGROUPED = ("doctor", "trace")
COMMANDS = (*UNGROUPED, *GROUPS)
"""The names of the ungrouped commands and of the command groups. By default, each name is also its module's name."""
_MODULES = {"banks": "bank_reports"}
"""The modules of the groups that are defined in a module with a different name, by group name."""

_HELP = """The operator's command line of Causeway.

It uses the local stack started by `make run`, or the stage set in the environment: STAGE, PUBLIC_URL and boto3's
variables (AWS_PROFILE, AWS_DEFAULT_REGION, …). If AWS credentials are set, STAGE must be set, too.

Every command has --help. With --json, it prints one JSON document, also for errors: {"error": "…"}.
The exit code is 0 on success, 1 if the command was refused, 2 on a usage error.

\b
Examples:
  .venv/bin/python -m infra.admin banks list
  .venv/bin/python -m infra.admin banks test DEMOGB21
  STAGE=dev PUBLIC_URL=https://dev.example.com .venv/bin/python -m infra.admin clients list --json
"""


class _Program(TyperGroup):
    """A command group that reports usage errors as JSON if the operator passes ``--json``."""

    def main(self, args: Sequence[str] | None = None, **options: Any) -> Any:  # type: ignore[override]
        given = list(sys.argv[1:] if args is None else args)
        if "--json" not in given or "--help" in given:
            return super().main(given, **options)
        try:
            code = super().main(given, **{**options, "standalone_mode": False})
        except typer.TyperException as error:
            typer.echo(json.dumps({"error": error.format_message()}))
            code = error.exit_code
        except typer.Abort:
            code = 1
        return sys.exit(code if isinstance(code, int) else 0)


def build_program(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """Build the program with the commands and groups in ``names``, without importing other commands."""
    program = typer.Typer(
        cls=_Program,
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    program.callback()(_read_options)
    for name in GROUPS:
        if name in names:
            group: typer.Typer = import_module(f"infra.admin.{_MODULES.get(name, name)}").group
            group.info.name = name
            program.add_typer(group, name=name)
    for name in UNGROUPED:
        if name in names:
            command(program, name)(getattr(import_module(f"infra.admin.{name}"), name))
    return program


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(VERSION)
        raise typer.Exit


def _read_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Read the options before the first command name."""
