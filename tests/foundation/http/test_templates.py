"""Templates: what people enter stays text, and what is missing is a defect."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest

from chalicelib.foundation.http.pages import Templates


@pytest.fixture
def templates(tmp_path: Path) -> Templates:
    (tmp_path / "page.html").write_text("<p>{{ name | loud }}</p>", encoding="utf-8")
    return Templates([tmp_path], {"loud": str.upper})


def test_what_people_enter_stays_text(templates: Templates) -> None:
    assert templates.render("page.html", name="<b>{{ x }}") == "<p>&lt;B&gt;{{ X }}</p>"


def test_a_value_that_is_missing_is_a_defect(templates: Templates, tmp_path: Path) -> None:
    (tmp_path / "plain.html").write_text("<p>{{ name }}</p>", encoding="utf-8")
    with pytest.raises(jinja2.UndefinedError):
        templates.render("plain.html")


def test_templates_are_loaded_before_they_are_needed(templates: Templates, tmp_path: Path) -> None:
    templates.load()
    (tmp_path / "page.html").unlink()

    assert templates.render("page.html", name="x") == "<p>X</p>"
