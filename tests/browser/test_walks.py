"""Browser scenarios: their documented names, the README images, and the screenshot command."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.browser import __main__ as command
from tests.browser.__main__ import IMAGES, WALKS
from tests.browser.page_checks import LOOKS, Walk, look_of, row_of
from tests.kit.documents import EVERYTHING, ROOT

pytestmark = pytest.mark.pages

COMMAND = (ROOT / "tests" / "browser" / "__main__.py").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def test_every_documented_scenario_name_matches_a_scenario() -> None:
    named = re.findall(r"make screenshots ONLY=([\w-]+)", EVERYTHING)
    named += re.findall(r"^screenshots:.*ONLY=([\w-]+)", MAKEFILE, re.MULTILINE)
    named += re.findall(r"for example ([\w-]+) or ([\w-]+)", COMMAND)[0]

    assert len(named) >= 3
    assert [name for name in named if not any(walk.name.startswith(name) for walk in WALKS)] == []


def test_scenario_names_are_unique() -> None:
    assert len({walk.name for walk in WALKS}) == len(WALKS)


def test_the_small_form_checks_some_pages_of_every_part_in_each_look() -> None:
    for own in ("website", "cards", "bank", "faults"):
        names = [name for walk in WALKS if walk.name.startswith(own) for name in walk.page_names]
        assert {look_of(name) for name in names} == {*range(LOOKS)}, own


def test_the_images_of_the_readme_are_screenshots_of_scenarios() -> None:
    pages = {name for walk in WALKS for name in walk.page_names}
    files = {file.stem for file in (ROOT / "docs" / "images").iterdir()}

    assert set(IMAGES) <= pages
    assert set(IMAGES.values()) == files == set(re.findall(r"docs/images/([\w-]+)\.png", EVERYTHING))


def test_an_unknown_scenario_name_causes_exit_code_1_and_lists_the_valid_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.main(["--only", "nothing"]) == 1
    assert re.search("no walk's name begins with nothing; there are .*website-visitor", capsys.readouterr().err)


def test_the_start_of_every_scenario_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "run_stack", nullcontext)
    monkeypatch.setattr(command.window, "launched", nullcontext)
    monkeypatch.setattr(command.window, "MISSING", "")
    monkeypatch.setattr(command, "picture", lambda browser, stack, walk, folder: [f"{walk.name}: a complaint"])
    monkeypatch.setattr(command, "WALKS", [Walk("one", {"a": "/"}), Walk("two", {"a": "/", "b": "/"})])

    assert command.main([]) == 1
    assert [line[8:] for line in capsys.readouterr().err.splitlines()[:3]] == [
        "starting a stack and a browser",
        "[ 1/2] one: 1 page",
        "[ 2/2] two: 2 pages",
    ]


@pytest.mark.parametrize(
    ("address", "row"),
    [
        ("http://127.0.0.1:8000/", "/"),
        ("http://127.0.0.1:8000/clients/new?draft=x", "/clients/new"),
        ("http://127.0.0.1:8000/clients/0000", "/clients/{client_id}"),
        ("http://127.0.0.1:8000/clients/0000/more", None),
        ("http://127.0.0.1:8000/nowhere", None),
    ],
)
def test_a_page_address_matches_exactly_one_entry_of_the_page_list(address: str, row: str | None) -> None:
    assert row_of(address) == row
