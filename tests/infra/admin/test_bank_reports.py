"""The operator's commands that publish and remove banks' conformance reports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run
from tests.openbanking.conformance_reports import STARTED_AT, failed, report, written

BIC = "ALPHGB21"


@pytest.fixture
def file(causeway: Causeway, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.setattr("infra.admin.connection.connect", lambda: causeway.hub)
    path = tmp_path / "report.json"
    path.write_bytes(written(report()))
    yield path
    if causeway.hub.openbanking.banks.get(BIC).conformance:
        causeway.hub.openbanking.banks.unpublish_report(BIC)


def test_publish_report_prints_the_address_and_unpublish_report_removes_it(file: Path) -> None:
    summary = {"result": "conforms", "version": 1, "started_at": STARTED_AT}
    url = f"http://127.0.0.1:8000/banks/{BIC}/conformance"

    assert done("banks", "publish-report", BIC, str(file)) == {"bic": BIC, "url": url, **summary}
    assert run("banks", "publish-report", BIC, str(file)).stdout == f"The report is published: {url}\n"
    assert done("banks", "show", BIC)["bank"]["conformance"] == summary
    assert f"conforms, {STARTED_AT}" in run("banks", "show", BIC).stdout
    assert done("banks", "unpublish-report", BIC) == {"bic": BIC}
    assert done("banks", "show", BIC)["bank"]["conformance"] is None


def test_an_unusable_report_is_refused_with_a_one_line_message(file: Path, tmp_path: Path) -> None:
    assert refused("banks", "unpublish-report", BIC) == f"no report about {BIC} is published"
    assert refused("banks", "publish-report", "NONEGB21", str(file)) == "no bank has the BIC NONEGB21"
    assert refused("banks", "publish-report", BIC, str(tmp_path)).endswith("cannot be read: Is a directory")
    assert refused("banks", "publish-report", "BETADEF1", str(file)).startswith("the report is about ALPHGB21")
    file.write_bytes(written(report(failed(sent="Cookie: a=b"))))
    assert refused("banks", "publish-report", BIC, str(file)).endswith("secret: see accounts.signature-wrong")
