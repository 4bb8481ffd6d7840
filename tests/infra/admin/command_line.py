"""Helpers that run the operator's command line inside the test process."""

import json
from functools import cache
from typing import Any
from unittest.mock import patch

from typer.main import get_command
from typer.testing import CliRunner, Result

from infra.admin.commands import program

_built = cache(get_command)
"""Build the command tree of the program on the first call, and return the same tree for later calls."""


def run(*arguments: str, stdin: str | None = None) -> Result:
    with patch("typer.testing._get_command", _built):
        return CliRunner().invoke(program, list(arguments), input=stdin)


def done(*arguments: str, stdin: str | None = None) -> Any:
    """Run a command that must succeed. Return the JSON document that the command prints."""
    result = run(*arguments, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*arguments: str, stdin: str | None = None) -> str:
    """Run a command that must fail. Return the error, which must be the same in text output and in JSON output."""
    spoken, printed = run(*arguments, stdin=stdin), run(*arguments, "--json", stdin=stdin)
    for result in (spoken, printed):
        assert result.exit_code == 1, result.output
        assert isinstance(result.exception, SystemExit)
    document = json.loads(printed.stdout)
    assert list(document) == ["error"]
    sentence: str = document["error"]
    assert spoken.stdout == ""
    assert spoken.stderr == f"Error: {sentence}\n"
    assert "\n" not in sentence
    return sentence
