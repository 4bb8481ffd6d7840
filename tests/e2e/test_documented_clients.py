"""The documented examples with OAuth libraries run without changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.psu_browser import Browser, approve_consent
from tests.kit.documents import CONSENTS, blocks

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("library", ["authlib", "requests_oauthlib"])
def test_the_documented_examples_with_oauth_libraries_complete_the_flow(
    stack: dict[str, Any], library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = [block for block in blocks(CONSENTS, "python") if f"from {library}" in block]
    printed: list[Any] = []

    def show(*values: Any) -> None:
        printed.append(values[-1])

    def be_the_psu(_: str) -> str:
        return approve_consent(Browser(stack["client"]["callback_url"], lambda *_: None), printed[-1])

    for variable in ("AUTHLIB_INSECURE_TRANSPORT", "OAUTHLIB_INSECURE_TRANSPORT"):
        monkeypatch.setenv(variable, "")
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local" / "stack.json").write_text(json.dumps(stack), "utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/concepts/consents-and-tokens.md", "exec"), {"print": show, "input": be_the_psu})  # noqa: S102 - our own document

    assert len(printed[-1]["accounts"]) > 1
