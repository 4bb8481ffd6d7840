"""Page templates: tables on phones, existing icons, no inline code, and size budgets."""

import re
from pathlib import Path

import pytest

import chalicelib
from chalicelib.foundation.http.pages import heroicon
from chalicelib.website import display_text, rendered_files
from chalicelib.website.cards import card_text
from chalicelib.website.performance import performance_text
from infra.render.docs.site_pages import page_names
from tests.website.web_user import PAGE_BYTES, WebUser

_ROOM = Path(chalicelib.__file__).parent
TEMPLATES = sorted(_ROOM.rglob("templates/*.html"))
_TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)
_REGION = re.compile(r'<div class="scroll[^"]*" tabindex="0" role="(?:region|group)" aria-label="[^"]+">\s*$')
_ICON = re.compile(r'\b(?:icon|empty|heroicon)\("([a-z0-9-]+)"|\bsymbol="([a-z0-9-]+)"')


def names(files: list[Path]) -> list[str]:
    return [file.relative_to(_ROOM).as_posix() for file in files]


@pytest.mark.parametrize("template", TEMPLATES, ids=names(TEMPLATES))
def test_every_table_is_shown_as_cards_on_a_phone_or_scrolls(template: Path) -> None:
    text = template.read_text("utf-8")
    for found in _TABLE.finditer(text):
        table, before = found[0], text[: found.start()]
        if 'class="cards-on-phone"' in table.partition(">")[0]:
            rows = re.sub("<thead>.*?</thead>", "", table, flags=re.DOTALL)
            assert not re.search(r"<t[dh]\b(?![^>]*data-label=)", rows), "a cell of a card has no label"
        else:
            assert _REGION.search(before), f"cut off without a cue: {table[:80]}"


@pytest.mark.parametrize("page", [*page_names()])
def test_every_table_of_the_documentation_is_scrollable(page: str) -> None:
    for document in documents(page):
        text = document.read_text("utf-8")
        assert all(_REGION.search(text[: found.start()]) for found in re.finditer("<table", text))


@pytest.mark.parametrize("file", TEMPLATES, ids=names(TEMPLATES))
def test_a_template_has_no_inline_code(file: Path) -> None:
    assert not has_inline_code(file)


@pytest.mark.parametrize("page", [*page_names()])
def test_a_documentation_page_has_no_inline_code(page: str) -> None:
    assert [file for file in documents(page) if has_inline_code(file)] == []


def documents(page: str) -> list[Path]:
    folder = rendered_files.FOLDER / "docs"
    return [folder / f"{page}.html", *folder.glob(f"{page}/*.html")]


def has_inline_code(file: Path) -> bool:
    text = re.sub("<code.*?</code>", "", file.read_text("utf-8"), flags=re.DOTALL)
    return bool(re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?! src=)|javascript:", text))


def test_every_icon_exists_and_is_hidden_from_screen_readers() -> None:
    found = {name for template in TEMPLATES for names in _ICON.findall(template.read_text("utf-8")) for name in names}

    assert len(found) > 20
    for name in found - {""}:
        assert 'aria-hidden="true"' in heroicon(name, 20)
        assert 'width="20"' in heroicon(name, 20)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/clients",
        "/clients/new",
        "/clients/{client_id}",
        "/clients/{client_id}/settings",
        "/clients/{client_id}/security",
        "/clients/{client_id}/history",
        "/authorize",
        "/consents",
        "/deliveries",
        "/account",
        "/cards",
        "/performance",
        "/terms",
        "/docs",
        "/docs?q=payment",
    ],
)
def test_a_rendered_page_has_at_most_100_kb(user: WebUser, path: str) -> None:
    path = path.format(client_id=user.create_client())
    assert len(user.get(path).text.encode()) <= PAGE_BYTES


def test_filter_names_are_unique_across_modules() -> None:
    """A duplicate filter name would silently replace the earlier filter on all pages."""
    names = [name for module in (display_text, card_text, performance_text) for name in module.FILTERS]

    assert len(names) == len(set(names))
