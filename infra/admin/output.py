"""Shared functions of all commands: output, errors, and time arguments."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, NoReturn

import simplejson
import typer

from chalicelib.foundation.durations import NOTATIONS, InvalidDuration, read_duration
from chalicelib.foundation.fields.written_text import is_written
from infra.admin import operator_log

_AS_JSON = inspect.Parameter(
    "as_json",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")],
)
_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
ONCE = "It is shown only once and cannot be retrieved later."
TIME_HELP = "A timestamp such as 2026-03-02T09:00:00Z (UTC without an offset), or how long ago: 30m, 2h, 3d, PT90M."
OVERLAP = 24 * 3600
LONGEST_OVERLAP = 30 * OVERLAP
"""Longest period, in seconds, in which both the new and the old key or secret are valid."""


def command_group(explained: str) -> typer.Typer:
    """Create a command group with the help text ``explained``."""
    return typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=explained)


class CommandRefused(Exception):
    """A command was refused. The message is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Report:
    """A command's result: ``data`` for JSON, ``text`` for the terminal. If ``good`` is false, the exit code is 1.

    ``printed`` means that the command has already printed the whole result.
    """

    data: Mapping[str, Any]
    text: str
    good: bool = True
    printed: bool = False


def command(group: typer.Typer, name: str) -> Callable[[Callable[..., Report]], Callable[..., None]]:
    """Decorate a function as a command of a group. The command prints its report, and prints an expected error as one
    sentence.

    Every command has the option ``--json``, whose value is passed to the parameter ``as_json``.
    """

    def add(work: Callable[..., Report]) -> Callable[..., None]:
        signature = inspect.signature(work, eval_str=True)
        asks = "as_json" in signature.parameters

        @functools.wraps(work)
        def run(*arguments: Any, context: typer.Context, as_json: bool, **options: Any) -> None:
            operator_log.running.set(_running_command(group, name, context))
            try:
                report = work(*arguments, **options | ({"as_json": as_json} if asks else {}))
            except Exception as error:
                from infra.admin.errors import explain_error  # late, since all of the errors take time to import

                if (sentence := explain_error(error, CommandRefused)) is None:
                    raise
                fail(sentence, as_json)
            if not report.printed:
                typer.echo(simplejson.dumps(report.data, indent=2, default=str) if as_json else report.text)
            if not report.good:
                raise typer.Exit(1)

        parameters = [each for each in signature.parameters.values() if each.name != "as_json"]
        run.__signature__ = signature.replace(parameters=[*parameters, _CONTEXT, _AS_JSON])  # type: ignore[attr-defined]
        return group.command(name)(run)

    return add


def _running_command(group: typer.Typer, name: str, context: typer.Context) -> operator_log.Command:
    """Return the command for the operator's log: its name, its arguments, and the names of its options without their
    values.
    """
    words = f"{group.info.name} {name}" if isinstance(group.info.name, str) else name
    passed = [each for each in context.command.params if _is_passed(context, each.name) and each.name != _AS_JSON.name]
    values = {each.name: context.params[each.name] for each in passed}
    return operator_log.Command(
        words,
        [str(values[each.name]) for each in passed if each.param_type_name == "argument"],
        [_spell_option(each, values[each.name]) for each in passed if each.param_type_name == "option"],
    )


def _is_passed(context: typer.Context, name: str | None) -> bool:
    source = context.get_parameter_source(name or "")
    return source is not None and source.name == "COMMANDLINE"


def _spell_option(option: Any, value: object) -> str:
    """Return the longest name of an option, such as ``--api-version``. For a switch, return the name that corresponds
    to the given value.
    """
    return str(max(option.secondary_opts if value is False and option.secondary_opts else option.opts, key=len))


def fail(sentence: str, as_json: bool) -> NoReturn:
    """Print an error and exit with code 1."""
    if as_json:
        typer.echo(json.dumps({"error": sentence}))
    else:
        typer.echo(f"Error: {sentence}", err=True)
    raise typer.Exit(1)


def format_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Format rows as aligned columns with headings."""
    lines = [[column.replace("_", " ") for column in columns]]
    lines += [[_format_cell(row[column]) for column in columns] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def format_members(members: Mapping[str, Any]) -> str:
    """Format members one per line. A list takes one line per entry."""
    width = max(map(len, members)) + 2
    lines = []
    for name, value in members.items():
        entries = value if isinstance(value, list) and value else [value]
        titles = [name.replace("_", " "), *[""] * (len(entries) - 1)]
        lines += [
            f"{title:<{width}}{_format_cell(entry)}".rstrip() for title, entry in zip(titles, entries, strict=True)
        ]
    return "\n".join(lines)


def _format_cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return to_printable("-" if value is None or value == [] else str(value))


def parse_span(text: str) -> int:
    """Parse a time span such as ``61m`` or ``PT61M``, and return seconds. Raises: CommandRefused."""
    try:
        return read_duration(text.strip())
    except InvalidDuration:
        raise CommandRefused(f"{text!r} is not a time span: use {NOTATIONS}") from None


def parse_time(text: str, now: int, latest: int | None = None) -> int:
    """Parse a timestamp, or a time span before ``now``, and return Unix seconds.

    Raises:
        CommandRefused: the time is invalid, or later than ``latest`` (default: ``now``).
    """
    try:
        seconds = now - read_duration(text.strip())
    except InvalidDuration:
        seconds = _parse_timestamp(text.strip())
    if seconds > (now if latest is None else latest):
        raise CommandRefused(f"{text} is in the future")
    return max(seconds, 0)


def overlap_option(explained: str) -> Any:
    """Return the option ``--overlap SECONDS`` of a rotation, with the help text ``explained``."""
    return typer.Option(min=0, max=LONGEST_OVERLAP, metavar="SECONDS", help=explained)


EventsOverlap = Annotated[int, overlap_option("How long events are also signed with the old secret; 0: not at all.")]


def format_new_secret(subject: str, secret: str | None, use: str, old_until: str | None) -> str:
    """Format the new secret of ``subject``. ``use`` is the verb that describes the secret's use, for example
    ``signs``.
    """
    before = f"together with the old one until {old_until}" if old_until else "alone"
    return f"The new secret of {subject}: {secret}\n{ONCE}\nIt {use} from now on, {before}."


def to_printable(text: str) -> str:
    """Replace terminal control characters in ``text`` with spaces."""
    return "".join(character if is_written(character) else " " for character in text)


def _parse_timestamp(text: str) -> int:
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        form = "use a timestamp such as 2026-03-02T09:00:00Z, or how long ago: 30m, 2h, 3d"
        raise CommandRefused(f"{text!r} is not a time: {form}") from None
    return int((given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp())
