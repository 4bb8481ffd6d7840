"""Templates escape all values and raise an error for a missing value."""

import subprocess
import sys
from pathlib import Path

import jinja2
import pytest

from chalicelib.foundation.http.pages import Templates
from tests.kit.documents import ROOT


@pytest.fixture
def templates(tmp_path: Path) -> Templates:
    (tmp_path / "page.html").write_text("<p>{{ name | loud }}</p>", encoding="utf-8")
    return Templates([tmp_path], {"loud": str.upper})


def test_values_in_templates_are_escaped(templates: Templates) -> None:
    assert templates.render("page.html", name="<b>{{ x }}") == "<p>&lt;B&gt;{{ X }}</p>"


def test_a_missing_template_value_raises_undefined_error(templates: Templates, tmp_path: Path) -> None:
    (tmp_path / "plain.html").write_text("<p>{{ name }}</p>", encoding="utf-8")
    with pytest.raises(jinja2.UndefinedError):
        templates.render("plain.html")


def test_the_load_function_parses_all_page_templates(templates: Templates, tmp_path: Path) -> None:
    templates.load()
    (tmp_path / "page.html").unlink()

    assert templates.render("page.html", name="x") == "<p>X</p>"


def test_importing_the_application_loads_neither_jinja_nor_icons() -> None:
    asked = "import sys, app; print({'heroicons', 'jinja2'} & sys.modules.keys())"
    answer = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, cwd=ROOT)

    assert answer.stdout == "set()\n"


def test_icons_are_hidden_from_screen_readers(templates: Templates, tmp_path: Path) -> None:
    (tmp_path / "icon.html").write_text(
        "{% from 'components.html' import icon %}{{ icon('home', 16) }}", encoding="utf-8"
    )
    icon = templates.render("icon.html")

    assert icon.startswith("<svg ")
    assert all(part in icon for part in ('aria-hidden="true"', 'width="16"', 'stroke="currentColor"'))
