"""The operator's command for bank logos, and the number of history days of a bank."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run
from tests.openbanking.logos import SVG, png

BIC = "GAMMGB2L"


@pytest.fixture
def bic(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr("infra.admin.connection.connect", lambda: causeway.hub)
    arguments = [
        "banks",
        "add",
        BIC,
        "--name",
        "Gamma",
        "--country",
        "GB",
        "--api-version",
        "1",
        "--history-days",
        "90",
    ]
    done(*arguments, "--domain", "http://127.0.0.1:9/bank", "--authorization-url", "http://127.0.0.1:9/bank/authorize")
    yield BIC
    causeway.hub.openbanking.banks.remove(BIC)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "logo.png"
    path.write_bytes(SVG)
    return path


def test_banks_logo_sets_replaces_and_removes_the_logo_of_a_bank(causeway: Causeway, bic: str, file: Path) -> None:
    first = done("banks", "logo", bic, str(file))
    assert first["logo_url"].startswith(f"http://127.0.0.1:8000/banks/{bic}/logo/")
    assert first["logo_type"] == "image/svg+xml"
    assert done("banks", "show", bic)["bank"]["logo"] == first["logo_url"].removeprefix("http://127.0.0.1:8000")

    file.write_bytes(png())
    second = done("banks", "logo", bic, str(file))
    assert second["logo_type"] == "image/png"
    assert second["logo_url"] != first["logo_url"]
    assert f"{bic} has the logo http" in run("banks", "logo", bic, str(file)).stdout

    assert done("banks", "logo", bic, "--remove") == {"bic": bic, "logo_url": None, "logo_type": None}
    assert done("banks", "show", bic)["bank"]["logo"] is None


def test_an_unusable_bank_logo_is_rejected_with_a_one_line_error_message(bic: str, file: Path, tmp_path: Path) -> None:
    assert refused("banks", "logo", bic) == "name a file, or pass --remove"
    assert refused("banks", "logo", bic, str(file), "--remove") == "name a file, or pass --remove"
    assert refused("banks", "logo", bic, "--remove") == f"{bic} has no logo"
    assert refused("banks", "logo", "NONEGB21", str(file)) == "no bank has the BIC NONEGB21"
    assert refused("banks", "logo", bic, str(tmp_path / "none")).endswith("cannot be read: No such file or directory")
    assert refused("banks", "logo", bic, str(tmp_path)).endswith("cannot be read: Is a directory")
    file.write_text("a logo", encoding="utf-8")
    assert refused("banks", "logo", bic, str(file)) == "the logo is not a PNG, JPEG or SVG file"


def test_banks_update_sets_and_removes_the_history_days(bic: str) -> None:
    assert done("banks", "show", bic)["bank"]["history_days"] == 90
    assert done("banks", "update", bic, "--history-days", "3650")["bank"]["history_days"] == 3650
    assert done("banks", "update", bic, "--name", "Other")["bank"]["history_days"] == 3650
    assert done("banks", "update", bic, "--history-days", "")["bank"]["history_days"] is None


@pytest.mark.parametrize("days", ["0", "3651"])
def test_history_days_out_of_range_are_refused(bic: str, days: str) -> None:
    assert refused("banks", "update", bic, "--history-days", days) == "history_days must be from 1 to 3650"


@pytest.mark.parametrize("days", ["a", "1.5", "-1", "9" * 30, "\u0661"])
def test_history_days_that_are_not_a_number_are_refused(bic: str, days: str) -> None:
    sentence = refused("banks", "update", bic, "--history-days", days)

    assert sentence == "--history-days must be a whole number from 1 to 3650, or empty"
