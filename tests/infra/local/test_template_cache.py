"""Compiled templates are cached until the template or the code changes."""

import os
from pathlib import Path
from unittest.mock import patch

import pytest
from jinja2 import DictLoader, Environment

from infra.local.template_cache import TemplateCache


@pytest.fixture
def code(tmp_path: Path) -> Path:
    file = tmp_path / "code" / "filters.py"
    file.parent.mkdir()
    file.write_text("")
    return file


class Process:
    """A new process, which has an environment with one template and uses the shared cache folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def page(self, template: str = "Hello") -> tuple[str, bool]:
        cache = TemplateCache(self._folder / "templates", self._folder / "code")
        environment = Environment(loader=DictLoader({"page.html": template}), autoescape=True, bytecode_cache=cache)
        with patch.object(environment, "compile", wraps=environment.compile) as compiling:
            return environment.get_template("page.html").render(), compiling.called


@pytest.fixture
def process(code: Path, tmp_path: Path) -> Process:
    return Process(tmp_path)


def test_a_template_is_compiled_once_for_several_processes(process: Process) -> None:
    assert [process.page(), process.page()] == [("Hello", True), ("Hello", False)]


def test_a_changed_template_is_compiled_again(process: Process) -> None:
    assert [process.page(), process.page("Goodbye")] == [("Hello", True), ("Goodbye", True)]


def test_a_template_is_compiled_again_after_a_code_change(process: Process, code: Path) -> None:
    process.page()
    os.utime(code, ns=(1, 1))

    assert process.page() == ("Hello", True)


def test_a_page_is_rendered_even_if_the_template_cannot_be_cached(process: Process, tmp_path: Path) -> None:
    (tmp_path / "templates").write_text("a file where the folder would be")

    assert process.page() == ("Hello", True)
