"""``doctor`` reports what is inconsistent, changes nothing unless asked to, and can be resumed."""

from __future__ import annotations

import json

import pytest

from chalicelib.bootstrap import Hub
from chalicelib.openbanking.records.consents import consent_key
from infra.admin import connection, operator_log
from infra.restore import examination
from infra.restore.checks import CHECKS, LEDGER, TABLES
from infra.restore.examination import Position
from tests.infra.admin.command_line import done, refused, run
from tests.openbanking.faults import items
from tests.openbanking.payer import Payer
from tests.world import World


@pytest.fixture(autouse=True)
def connected(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands work on the world, and record themselves as they do on a stage."""

    def connect() -> Hub:
        operator_log.record(world.hub)
        return world.hub

    monkeypatch.setattr(connection, "connect", connect)


@pytest.fixture
def lost(world: World) -> str:
    """A consent that is gone, by its id, of an approved request whose event is due."""
    world.wants_events()
    consent_id = str(world.tokens(1)["consent_id"])
    world.hub.store.delete(*consent_key(consent_id))
    return consent_id


def test_doctor_reports_consistent_tables(world: World) -> None:
    Payer(world, 2).pay("a-key")

    assert done("doctor") == {"good": True, "left": 0, "findings": []}
    assert run("doctor").stdout == "The tables are consistent.\n"


def test_doctor_names_inconsistencies_and_changes_nothing(world: World, lost: str) -> None:
    before = {table: items(world, table) for table in (*TABLES, "website")}

    report = run("doctor")

    assert report.exit_code == 1
    assert "approved-without-consent: An authorization request is approved, but its consent is gone.\n" in report.stdout
    assert report.stdout.endswith("3 inconsistent.\n")
    assert {table: items(world, table) for table in before} == before


def test_doctor_mend_repairs_all_inconsistencies_and_is_recorded(world: World, lost: str) -> None:
    mended = json.loads(run("doctor", "--mend", "--json").stdout)

    assert {each["check"] for each in mended["findings"] if each["mended"]} == {
        *("approved-without-consent", "response-without-consent", "notice-without-consent")
    }
    assert mended["good"]
    assert done("doctor")["good"]
    assert [(each["command"], each["options"]) for each in items(world, "website")] == [("doctor", ["--mend"])]


def test_doctor_resumes_at_a_table_or_a_printed_position(
    world: World, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "_PAGE", 1)

    found = {
        each["check"] for each in json.loads(run("doctor", "--from", "authorizations", "--json").stdout)["findings"]
    }
    [request] = items(world, "authorizations")
    after = Position("authorizations", {"authorization_id": request["authorization_id"]})

    assert found == {"approved-without-consent"}
    assert Position.parse(str(after)) == after
    assert done("doctor", "--from", str(after))["good"]
    for text in ("users", "consents:x", "consents:[1]"):
        assert "is not a position" in refused("doctor", "--from", text)


def test_check_names_are_unique_for_each_table() -> None:
    rows = [*CHECKS, LEDGER]

    assert len({(check.name, check.tables[0]) for check in rows}) == len(rows)
    assert all(not text.endswith(".") for check in rows for text in (check.wrong, check.remedy))
