"""Walks: by the names that the documents give, pictures are made of them; by any other, of none, and it is said."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.browser import __main__ as command
from tests.browser.pages import IMAGES, WALKS
from tests.browser.walks import Walk, goes_back, place
from tests.kit.documents import EVERYTHING, ROOT

pytestmark = pytest.mark.pages

COMMAND = (ROOT / "tests" / "browser" / "__main__.py").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def test_every_documented_walk_name_matches_a_walk() -> None:
    named = re.findall(r"make screenshots ONLY=([\w-]+)", EVERYTHING)
    named += re.findall(r"^screenshots:.*ONLY=([\w-]+)", MAKEFILE, re.MULTILINE)
    named += re.findall(r"for example ([\w-]+) or ([\w-]+)", COMMAND)[0]

    assert len(named) >= 3
    assert [name for name in named if not any(walk.name.startswith(name) for walk in WALKS)] == []


def test_walk_names_are_unique() -> None:
    assert len({walk.name for walk in WALKS}) == len(WALKS)


def test_the_images_of_the_readme_are_pages_of_walks() -> None:
    pages = {f"{walk.name}-{name}" for walk in WALKS for name, _ in walk.stops}
    files = {file.stem for file in (ROOT / "docs" / "images").iterdir()}

    assert set(IMAGES) <= pages
    assert set(IMAGES.values()) == files == set(re.findall(r"docs/images/([\w-]+)\.png", EVERYTHING))


def test_an_unknown_walk_name_exits_with_1_and_lists_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "nothing"]) == 1
    assert re.search("no walk's name begins with nothing; there are .*website-visitor", capsys.readouterr().err)


def test_every_walk_is_reported_at_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "run_stack", nullcontext)
    monkeypatch.setattr(command.chromium, "launched", nullcontext)
    monkeypatch.setattr(command.chromium, "MISSING", "")
    monkeypatch.setattr(command, "picture", lambda browser, stack, walk, folder: [f"{walk.name}: a complaint"])
    monkeypatch.setattr(command, "WALKS", [Walk("one", (("a", goes_back),)), Walk("two", (("a", goes_back),) * 2)])

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
def test_an_address_belongs_to_one_place(address: str, row: str | None) -> None:
    assert place(address) == row
