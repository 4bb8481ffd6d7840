"""Rendered files: missing files, as in a new clone, and replacement while the service runs."""

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from chalicelib.website import rendered_files
from chalicelib.website.openapi_documents import DOCUMENTS, SCREENS
from chalicelib.website.rendered_files import FINGERPRINT, NotRendered, cache_until_replaced
from tests.causeway import Causeway
from tests.website.web_user import WebUser

DEPLOYED = "This deployment has no rendered documents: run `make docs`, then deploy again."
LOCAL = "The documents are being rendered: try again in a few seconds, or run `make docs`."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "rendered"
    monkeypatch.setattr(rendered_files, "FOLDER", found)
    return found


@pytest.fixture(params=[("dev", DEPLOYED), ("local", LOCAL)], ids=["deployed", "local"])
def sentence(request: pytest.FixtureRequest, causeway: Causeway, folder: Path) -> str:
    stage, said = request.param
    causeway.hub.settings = replace(causeway.hub.settings, stage=stage)
    return str(said)


@pytest.mark.parametrize(
    "path",
    [
        "/docs",
        "/docs/guides/tpp",
        "/docs/reference/tpp-api/account",
        "/docs/guides/tpp.md",
        "/docs?q=payment",
        "/docs.md",
        "/llms.txt",
        *(f"/specifications/{screen.name}" for screen in SCREENS),
    ],
)
def test_an_unrendered_page_returns_503_with_one_sentence(causeway: Causeway, sentence: str, path: str) -> None:
    answer = WebUser(causeway).get(path)

    assert answer.status == 503
    assert sentence in answer.text
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("stage", "seconds"), [("local", "3"), ("dev", None)])
def test_only_a_local_page_reloads_itself_during_rendering(
    causeway: Causeway, folder: Path, stage: Literal["local", "dev"], seconds: str | None
) -> None:
    causeway.hub.settings = replace(causeway.hub.settings, stage=stage)

    assert WebUser(causeway).get("/docs").headers.get("refresh") == seconds


def test_a_page_does_not_reload_itself_after_a_failed_rendering(
    causeway: Causeway, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    causeway.hub.settings = replace(causeway.hub.settings, stage="local")
    monkeypatch.setattr(rendered_files, "rendering_failed", threading.Event())
    rendered_files.rendering_failed.set()

    answer = WebUser(causeway).get("/docs")

    assert "could not be rendered" in answer.text
    assert "refresh" not in answer.headers


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_unrendered_openapi_document_returns_503_with_a_one_sentence_message(
    causeway: Causeway, sentence: str, name: str
) -> None:
    answer = causeway.call("GET", f"/openapi/{name}.json")

    assert (answer.status, answer.body) == (503, {"error": sentence})


def test_pages_that_need_no_rendered_files_are_served_if_rendered_files_are_missing(
    causeway: Causeway, folder: Path
) -> None:
    assert [WebUser(causeway).get(path).status for path in ("/", "/terms", "/performance", "/health")] == [200] * 4


def test_a_document_is_served_after_it_is_rendered_without_a_restart(causeway: Causeway, folder: Path) -> None:
    before = causeway.call("GET", "/openapi/tpp.json")
    (folder / "openapi").mkdir(parents=True)
    (folder / "openapi" / "tpp.json").write_text("{}", "utf-8")
    (folder / FINGERPRINT).write_text("1", "utf-8")

    assert (before.status, causeway.call("GET", "/openapi/tpp.json").status) == (503, 200)


def test_rendered_results_are_cached_until_the_folder_is_replaced(folder: Path) -> None:
    folder.mkdir()
    (folder / FINGERPRINT).write_text("1", "utf-8")
    (folder / "page").write_text("old", "utf-8")
    read = cache_until_replaced(rendered_files.read)
    first = read("page")
    (folder / "page").write_text("new", "utf-8")
    kept = read("page")
    os.utime(folder / FINGERPRINT, ns=(1, 1))

    assert (first, kept, read("page")) == ("old", "old", "new")


def test_a_slow_read_of_the_old_folder_does_not_overwrite_the_new_cache(folder: Path) -> None:
    folder.mkdir()
    (folder / FINGERPRINT).write_text("1", "utf-8")
    (folder / "page").write_text("old", "utf-8")
    others: list[str] = []

    def read_slowly(name: str) -> str:
        text = rendered_files.read(name)
        if text == "old":
            (folder / "page").write_text("new", "utf-8")
            os.utime(folder / FINGERPRINT, ns=(1, 1))
            others.append(read(name))
        return text

    read = cache_until_replaced(read_slowly)

    assert (read("page"), others, read("page")) == ("old", ["new"], "new")


def test_a_missing_rendered_file_is_reported_by_name_and_not_cached(folder: Path) -> None:
    read = cache_until_replaced(rendered_files.read)
    with pytest.raises(NotRendered, match=FINGERPRINT):
        read("page")
    folder.mkdir()
    (folder / FINGERPRINT).write_text("1", "utf-8")
    with pytest.raises(NotRendered, match="page"):
        read("page")
    (folder / "page").write_text("there", "utf-8")

    assert read("page") == "there"
