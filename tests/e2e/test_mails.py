"""Mails on the running stack: a link in a mail file resets a password."""

import re
import secrets
from pathlib import Path
from typing import Any

import pytest

from infra.local import logfile
from tests.e2e.parties import WebBrowser
from tests.kit.time import wait_for

pytestmark = pytest.mark.e2e


def mail_to(folder: Path, email: str) -> Path:

    def look() -> Path | None:
        return next(
            (file for file in folder.glob("*.txt") if file.read_text("utf-8").startswith(f"To: {email}\n")), None
        )

    return wait_for(look, "no mail came")


def test_a_forgotten_password_is_reset_with_the_link_in_a_mail_file(stack: dict[str, Any]) -> None:
    window, email = WebBrowser(stack["base_url"]), f"{secrets.token_hex(8)}@example.com"
    fields = {"email": email, "password": "correct horse battery", "terms": "yes"}
    assert window.post("/register", window.get("/register"), **fields).status_code == 303
    assert window.post("/forgotten", window.get("/forgotten"), email=email).status_code == 200
    file = mail_to(Path(stack["mails"]), email)
    found = re.search(rf"^{stack['base_url']}(/reset/\S+)$", file.read_text("utf-8"), re.MULTILINE)
    assert found is not None
    other = WebBrowser(stack["base_url"])
    assert other.post(found[1], other.get(found[1]), password="rain on a tin roof").status_code == 303

    assert "/account" in other.get("/").text
    assert "Forgot your password?" in window.get("/account").text, "the session of before has ended"
    (line,) = [line for line in logfile.read_lines(Path(stack["log"])) if f'"{email}"' in line]
    assert str(file) in line
    assert found[1].rpartition("/")[2] not in line
