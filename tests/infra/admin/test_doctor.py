"""``doctor`` reports inconsistencies and repairs them only on request. An interrupted run can be resumed."""

import json

import pytest

from chalicelib.bootstrap import Hub
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.ledger.entries import movement_key
from chalicelib.foundation.dynamodb.store import Item, Page, Throttled
from chalicelib.openbanking.records.client_record import client_key
from chalicelib.openbanking.records.consents import consent_key
from infra.admin import connection, operator_log
from infra.restore import examination
from infra.restore.checks import CHECKS, LEDGER, TABLES
from infra.restore.examination import Position
from tests.cards.issuer import Issuer
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run
from tests.openbanking.faults import items
from tests.openbanking.payments import Pisp


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connect the commands with the test service. The commands are recorded as on a deployed stage."""

    def connect() -> Hub:
        operator_log.record(causeway.hub)
        return causeway.hub

    monkeypatch.setattr(connection, "connect", connect)


@pytest.fixture
def lost(causeway: Causeway) -> str:
    causeway.tpp.set_events_url()
    consent_id = str(causeway.tpp.tokens(1)["consent_id"])
    causeway.hub.store.delete(*consent_key(consent_id))
    return consent_id


def test_doctor_reports_consistent_tables(causeway: Causeway) -> None:
    Pisp(causeway, 2).pay("a-key")

    found = {"findings": [], "good": True, "left": 0, "mended": 0, "mendable": 0, "from": "payments", "next": None}
    assert done("doctor") == found
    assert run("doctor").stdout == "The tables are consistent.\n"


def test_a_doctor_report_that_covers_some_tables_states_which_tables_were_not_compared(
    causeway: Causeway, lost: str
) -> None:
    consistent = "Consistent from ledger on; earlier tables and items were not compared.\n"

    assert run("doctor", "--from", "ledger").stdout == consistent
    assert "1 inconsistent: --mend mends 1, 0 are for you. Earlier tables and items were not compared.\n" in (
        run("doctor", "--from", "consents").stdout
    )
    assert done("doctor", "--from", "ledger-mismatch")["from"] == "ledger-mismatch"


def test_doctor_reports_inconsistencies_and_changes_nothing(causeway: Causeway, lost: str) -> None:
    before = {table: items(causeway, table) for table in (*TABLES, "website")}
    [request] = items(causeway, "authorizations")

    report = run("doctor")

    assert report.exit_code == 1
    assert (
        "approved-without-consent: An authorization request is approved, but its consent is gone.\n"
        "  With --mend: the request is cancelled, and the PSU has to authorize again.\n"
        f"    authorization request {request['authorization_id']}, consent {lost}\n"
    ) in report.stdout
    document = f"{causeway.hub.settings.public_url}/docs/reference/restore"
    assert report.stdout.endswith(f"3 inconsistent: --mend mends 3, 0 are for you.\nSee {document}\n")
    assert {table: items(causeway, table) for table in before} == before


def test_each_finding_of_a_json_doctor_report_has_a_remedy(causeway: Causeway, lost: str) -> None:
    findings = json.loads(run("doctor", "--from", "authorizations", "--json").stdout)["findings"]

    [request] = items(causeway, "authorizations")
    assert findings == [
        {
            "check": "approved-without-consent",
            "item": f"authorization request {request['authorization_id']}, consent {lost}",
            "mended": False,
            "mendable": True,
            "remedy": "The request is cancelled, and the PSU has to authorize again",
        }
    ]


@pytest.mark.parametrize("options", [(), ("--mend",)])
def test_an_interrupted_doctor_run_prints_the_findings_and_the_resume_position(
    causeway: Causeway, lost: str, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    fail_at(causeway, monkeypatch, "authorizations", KeyboardInterrupt())

    text = run("doctor", *options)
    document = run("doctor", *options, "--json")

    assert text.exit_code == document.exit_code == 130
    assert f"delivery {items(causeway, 'deliveries')[0]['delivery_id']}, consent {lost}\n" in text.stdout
    assert f"{'Mended' if options else 'With --mend'}: the delivery is ended.\n" in text.stdout
    assert "2 inconsistent so far: " in text.stdout
    assert text.stderr == document.stderr == "Incomplete: go on with --from authorizations\n"
    report = json.loads(document.stdout)
    assert (report["good"], report["next"], len(report["findings"])) == (False, "authorizations", 0 if options else 2)


def test_a_failed_doctor_run_prints_the_findings(
    causeway: Causeway, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(causeway, monkeypatch, "authorizations", Throttled("ThrottlingException"))

    text, document = run("doctor"), run("doctor", "--json")

    assert text.exit_code == document.exit_code == 1
    assert "notice-without-consent" in text.stdout
    assert "DynamoDB takes no more calls" in text.stderr
    assert "DynamoDB takes no more calls" in json.loads(document.stdout)["error"]


def test_doctor_mend_reports_repaired_and_unrepaired_inconsistencies_separately(causeway: Causeway, lost: str) -> None:
    causeway.tpp.tokens(2)
    causeway.hub.store.delete(*client_key(causeway.tpp.client_id))

    before, after = run("doctor").stdout, run("doctor", "--mend").stdout

    assert "  You: restore `clients` to a later moment, or end the consent with `consents revoke`.\n" in after
    assert "  Mended: the request is cancelled, and the PSU has to authorize again.\n" in after
    assert "4 inconsistent: --mend mends 3, 1 is for you.\n" in before
    assert "4 inconsistent: 3 mended, 1 is left for you.\n" in after


def test_a_record_changed_during_a_doctor_repair_is_left_for_the_next_run(
    causeway: Causeway, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "repair", lambda hub, wrong: False)

    report = run("doctor", "--mend", "--from", "authorizations").stdout

    assert "  Changed meanwhile. With another --mend: the request is cancelled, " in report
    assert "1 inconsistent: 0 mended, 1 is left for another --mend, 0 are left for you." in report


def test_doctor_reports_the_missing_record_of_a_stored_card_api_response_once(causeway: Causeway) -> None:
    issuer = Issuer(causeway)
    card = issuer.card(request_reference_id=issuer.reference())
    causeway.hub.store.delete(*Card.key(card.card_id))

    found = findings_of("response-without-record")

    assert found == [f"response to programme manager 1, credential full; gone: card {card.card_id}"]


def test_doctor_reports_the_account_and_the_row_of_an_authorization_without_a_ledger_row(causeway: Causeway) -> None:
    issuer = Issuer(causeway)
    card = issuer.spendable(10_00)
    issuer.clearing(issuer.purchase(card.card_id, 5_00), 5_00)
    [record] = [each for each in items(causeway, "card-activity") if each.get("booked_row")]
    owner = f"account#{card.account_id}"
    causeway.hub.store.delete(*movement_key(owner, record["booked_row"]))

    found = findings_of("authorization-without-row")

    assert found == [f"authorization {record['id']}, account {card.account_id}, row {record['booked_row']}"]


def findings_of(check: str) -> list[str]:
    report = json.loads(run("doctor", "--json").stdout)
    return [each["item"] for each in report["findings"] if each["check"] == check]


def fail_at(causeway: Causeway, monkeypatch: pytest.MonkeyPatch, table: str, error: BaseException) -> None:
    """Make the doctor run raise an error when the run reads a table."""
    scan_page = causeway.hub.store.scan_page

    def scan(name: str, after: Item | None, limit: int) -> Page:
        if name == table:
            raise error
        return scan_page(name, after, limit)

    monkeypatch.setattr(causeway.hub.store, "scan_page", scan)


def test_doctor_mend_repairs_all_inconsistencies_and_is_recorded(causeway: Causeway, lost: str) -> None:
    mended = json.loads(run("doctor", "--mend", "--json").stdout)

    assert {each["check"] for each in mended["findings"] if each["mended"]} == {
        *("approved-without-consent", "response-without-consent", "notice-without-consent")
    }
    assert mended["good"]
    assert done("doctor")["good"]
    assert [(each["command"], each["options"]) for each in items(causeway, "website")] == [("doctor", ["--mend"])]


def test_doctor_resumes_at_the_requested_table_or_at_the_requested_position(
    causeway: Causeway, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "PAGE", 1)

    found = {
        each["check"] for each in json.loads(run("doctor", "--from", "authorizations", "--json").stdout)["findings"]
    }
    [request] = items(causeway, "authorizations")
    after = Position("authorizations", {"authorization_id": request["authorization_id"]})

    assert found == {"approved-without-consent"}
    assert Position.parse(str(after)) == after
    assert done("doctor", "--from", str(after))["good"]
    for text in ("users", "consents:x", "consents:[1]"):
        assert "is not a position" in refused("doctor", "--from", text)


def test_doctor_check_names_are_unique_for_each_table() -> None:
    rows = [*CHECKS, LEDGER]

    assert len({(check.name, check.tables[0]) for check in rows}) == len(rows)
    assert all(not text.endswith(".") for check in rows for text in (check.wrong, check.remedy))
