"""Guide tests compare the output with the guide. Values that change in every run may differ."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import pythons
from tests.kit.documents import ROOT, PythonSession, Reading, Shell, Step, steps, with_addresses
from tests.kit.time import PATIENCE_SECONDS

LONGEST = 220
ONE, OTHER = "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"


@pytest.mark.parametrize("file", sorted((ROOT / "docs" / "guides").glob("*.md")), ids=lambda file: file.stem)
def test_guides_have_a_limited_length_and_commands_in_every_step(file: Path) -> None:
    text = file.read_text("utf-8")

    assert len(text.splitlines()) <= LONGEST
    assert all(step.commands for step in steps(text))


@pytest.mark.parametrize("script", sorted((ROOT / "docs" / "guides").glob("*.py")), ids=lambda file: file.name)
@pytest.mark.parametrize("arguments", [[], ["--help"], ["port"], ["9701", "more"]])
def test_an_example_script_with_wrong_arguments_prints_its_usage(script: Path, arguments: list[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "sdk" / "src")}
    called = subprocess.run(
        [sys.executable, script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        env=environment,
    )

    assert called.returncode == 1
    usage = rf"usage: ([A-Z_]+=.* )?\.venv/bin/python docs/guides/{script.name} (PORT|BANK consent URL approve)\n"
    assert re.fullmatch(usage, called.stderr)


def test_guide_commands_are_parsed_with_their_output() -> None:
    text = "Do\n\n```sh\necho a\n```\n```text\na\n```\n\n```sh\ntrue\n```\n"

    assert steps(text) == [Step("echo a\n", "a\n"), Step("true\n", "")]
    assert steps("```python\nprint(1)\n```\n```text\n1\n```\n") == [Step("print(1)\n", "1\n", "python")]


@pytest.mark.parametrize(
    "text", ["```text\na\n```\n", "```sh\na\n```\n```text\na\n```\n```text\nb\n```\n", "```json\n1\n```\n"]
)
def test_guide_output_without_a_command_and_unknown_code_blocks_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="commands and what they print"):
        steps(text)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("done", "done"),
        (f"id {ONE}", f"id {OTHER}"),
        ("at 2026-11-21T09:30:00+00:00, 36 ms", "at 2026-11-22T10:31:13+00:00, 7 ms"),
        ('{"card_id":1,"amount":4590}', '{"card_id":17,"amount":4590}'),
        ('{"token":"a3f…","type":"Bearer"}', '{"token":"Zk0-x_Y.q","type":"Bearer"}'),
    ],
)
def test_guide_output_may_differ_in_values_that_change_per_run(shown: str, printed: str) -> None:
    assert Reading().difference(shown, printed) == ""


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("done", "done\n"),
        ("done", "failed"),
        (f"id {ONE}", "id unknown"),
        ("at 2026-11-21T09:30:00+00:00", "at noon"),
        ('{"card_id":1,"amount":4590}', '{"card_id":17,"amount":4591}'),
        ('{"token":"a3f…","type":"Bearer"}', '{"token":"a3f","type":"Basic"}'),
        ("all …", "all\nof it"),
    ],
)
def test_output_that_deviates_from_the_guide_in_a_fixed_value_is_reported_as_a_difference(
    shown: str, printed: str
) -> None:
    difference = Reading().difference(shown, printed)

    assert f"-{shown.splitlines()[0]}" in difference or f" {shown}" in difference


def test_ids_that_are_equal_in_a_guide_must_be_equal_in_the_output() -> None:
    reading = Reading()

    assert reading.difference(f"made {ONE}", f"made {OTHER}") == ""
    assert reading.difference(f"found {ONE}", f"found {OTHER}") == ""
    assert reading.difference(f"found {ONE}", f"found {ONE}") != ""


def test_ids_that_differ_in_a_guide_must_differ_in_the_output() -> None:
    assert Reading().difference(f"{ONE} {OTHER}", f"{ONE} {ONE}") != ""


def test_port_numbers_in_a_guide_are_replaced_and_other_numbers_are_unchanged() -> None:
    assert with_addresses("127.0.0.1:8000, 18000, %3A8000", {"8000": "4711"}) == "127.0.0.1:4711, 18000, %3A4711"


def test_a_guide_shell_session_preserves_variables_between_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(tmp_path, {"PATH": "/usr/bin:/bin"})
    try:
        assert shell.run("NAME=Ada\nsleep 600 &") == ("", 0)
        assert shell.run('echo "$NAME" >&2; printf end; false') == ("Ada\nend", 1)
        monkeypatch.setattr(Shell, "SECONDS", 0.1)
        with pytest.raises(TimeoutError, match="sleep 601"):
            shell.run("sleep 601")
    finally:
        shell.end()  # which waits until nobody can print any more: what was started has ended


def test_a_guide_python_session_preserves_variables_between_examples(tmp_path: Path) -> None:
    session = PythonSession(tmp_path, {"PYTHONPATH": str(ROOT)})
    try:
        assert session.run("name = 'Ada'") == ("", 0)
        assert session.run("print(name)") == ("Ada", 0)
        printed, code = session.run("print(name)\nname.nothing")
        assert printed.startswith("Ada\nTraceback")
        assert code == 1
        assert session.run("print(name)") == ("Ada", 0)
    finally:
        session.end()


def test_a_preloaded_python_interpreter_runs_operator_commands_scripts_and_code(tmp_path: Path) -> None:
    with pythons.installed(tmp_path) as python:
        operator, script, other = (
            subprocess.run([python, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
            for arguments in (
                ["-m", "infra.admin", "banks", "nonsense"],
                ["docs/guides/psu.py"],
                ["-c", "print(6 * 7)"],
            )
        )

    assert operator.returncode == 2
    assert operator.stderr.startswith("Usage: .venv/bin/python -m infra.admin banks ")
    assert (script.returncode, script.stderr[:6]) == (1, "usage:")
    assert (other.returncode, other.stdout) == (0, "42\n")
