"""An API contract file marks changes since the last release and contains every line of the contract."""

from pathlib import Path

import pytest

from infra.render.contract import __main__ as command
from infra.render.contract import marks
from infra.render.contract.__main__ import main

RELEASE = ["GET /list", "GET /list response 200  none", "POST /pay", "POST /pay response 200  none"]


LISTS, PAYS = RELEASE[:2], RELEASE[2:]


@pytest.mark.parametrize(
    ("present", "lines"),
    [
        (RELEASE, RELEASE),
        (LISTS, [*LISTS, "- POST /pay", "- POST /pay response 200  none"]),
        (PAYS, ["- GET /list", "- GET /list response 200  none", *PAYS]),
        ([*LISTS, "GET /new", *PAYS], [*LISTS, "+ GET /new", *PAYS]),
        (
            ["GET /list", "GET /list response 204  none", *PAYS],
            ["GET /list", "- GET /list response 200  none", "+ GET /list response 204  none", *PAYS],
        ),
        (
            ["POST /pay response 200  none", *LISTS, "POST /pay"],
            ["+ POST /pay response 200  none", *LISTS, "POST /pay", "- POST /pay response 200  none"],
        ),
    ],
)
def test_new_and_removed_contract_lines_are_marked_in_place(present: list[str], lines: list[str]) -> None:
    text = marks.join_lines(lines)

    assert marks.mark_changes(RELEASE, present) == lines
    assert (marks.released_lines(text), marks.present_lines(text)) == (RELEASE, present)


def test_all_lines_of_a_contract_without_a_previous_release_are_marked_as_new() -> None:
    assert marks.mark_changes([], RELEASE[:1]) == ["+ GET /list"]


def test_repeated_runs_mark_contract_changes_relative_to_the_last_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tpp.txt"
    file.write_text(marks.join_lines(RELEASE), "utf-8")
    monkeypatch.setattr(command, "PLACE", tmp_path)
    monkeypatch.setattr(command, "DOCUMENTS", ["tpp"])
    monkeypatch.setattr(command, "load", lambda _: {})

    for present in (["GET /a", *RELEASE[1:]], ["GET /b", *RELEASE[1:]]):
        monkeypatch.setattr(command, "contract", lambda _, present=present: present)
        assert main(["--check"]) == 1
        assert main([]) == main(["--check"]) == 0

    assert file.read_text("utf-8") == marks.join_lines(["- GET /list", "+ GET /b", *RELEASE[1:]])
    monkeypatch.setattr(command, "contract", lambda _: RELEASE)
    main([])
    assert file.read_text("utf-8") == marks.join_lines(RELEASE)
