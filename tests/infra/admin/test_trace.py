"""The trace of a request contains the request's log lines, the called banks, the deliveries and the records."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from chalicelib.foundation import jsontext, log
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.http.outbound import Reply
from chalicelib.foundation.identifiers import new_uuid
from chalicelib.foundation.moved_clock import MovedClock
from chalicelib.foundation.parallel import pieces
from chalicelib.foundation.settings import Settings
from infra.admin import connection, trace
from infra.admin.trace import CloudWatchLog, LocalLog, stage_log
from infra.local import logfile, stackfile
from tests.cards.issuer import Issuer
from tests.causeway import Causeway
from tests.infra.admin.command_line import done, refused, run
from tests.kit.http import stack_health

ACCOUNTS = {"status": "success", "accounts": []}


@pytest.fixture(autouse=True)
def connected(causeway: Causeway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Connect the commands with the test service, and write the service's log to a file. Return the file's path."""
    monkeypatch.setattr(connection, "connect", lambda: causeway.hub)
    file = tmp_path / "stack.json"
    monkeypatch.setenv(stackfile.VARIABLE, str(file))
    path = logfile.log_path(file)
    handler = logfile.LogFile(path, log.Formatter())
    log.logger().addHandler(handler)
    with stack_health() as stack:
        stackfile.write(file, {**stack, "log": str(path)})
        yield path
    log.logger().removeHandler(handler)
    handler.close()


@pytest.fixture
def bearer(causeway: Causeway) -> str:
    token: str = causeway.tpp.tokens(1)["access_token"]
    return token


def revoked(causeway: Causeway, bearer: str) -> str:
    causeway.queued()
    request_id = new_uuid()
    causeway.banks[1].answers["/revoke_token"] = lambda sent: {"status": "success"}
    answer = causeway.tpp.call("POST", "/tpp/token/revoke", {"token": bearer}, headers={"x-request-id": request_id})
    assert answer.status == 200
    with logfile.log_as("deliver"):
        for delivery_id in causeway.queued():
            causeway.hub.delivery.worker.attempt(delivery_id)
    log.clear()
    return request_id


def test_trace_shows_a_relayed_call_with_the_called_bank(causeway: Causeway, bearer: str) -> None:
    request_id = new_uuid()
    causeway.banks[1].answers["/accounts"] = lambda sent: ACCOUNTS
    headers = {"x-request-id": request_id}
    assert causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers=headers).status == 200
    causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer)  # another request

    traced = done("trace", request_id)
    text = run("trace", request_id.upper()).stdout

    assert [line["message"] for line in traced["lines"]] == ["bank called", "request"]
    (relay,) = traced["relays"]
    assert relay["bic"] == "ALPHGB21"
    assert relay["webhook"] == "/accounts"
    assert relay["status"] == 200
    assert relay["function"] == "api"
    for part in (
        f"Request {request_id}\n2 lines since",
        "What happened\n",
        "route=/tpp/accounts",
        "Requests to banks\n",
    ):
        assert part in text


def test_trace_shows_the_deliveries_and_records_of_a_request(causeway: Causeway, bearer: str) -> None:
    request_id = revoked(causeway, bearer)

    traced = done("trace", request_id)
    text = run("trace", request_id).stdout

    messages = [(line["function"], line["message"]) for line in traced["lines"]]
    assert ("api", "consent ended") in messages
    assert messages[-2:] == [("deliver", "bank called"), ("deliver", "delivered")]
    (delivery,) = traced["deliveries"]
    assert delivery["kind"] == "revoke_token"
    assert delivery["state"] == "delivered"
    assert delivery["request_id"] == request_id
    (consent,) = traced["consents"]
    assert (consent["status"], consent["ended_by"]) == ("revoked", "tpp")
    assert consent["ended_at"] == timestamp(causeway.clock.time())
    assert "Deliveries, current state\n" in text
    assert "Consent, current state\n" in text


def test_trace_of_a_delivery_finds_the_causing_request(causeway: Causeway, bearer: str) -> None:
    request_id = revoked(causeway, bearer)
    (delivery,) = done("trace", request_id)["deliveries"]

    assert done("trace", delivery["delivery_id"])["request_id"] == request_id


def test_trace_finds_the_request_by_the_id_sent_to_the_bank(causeway: Causeway, bearer: str) -> None:
    request_id = revoked(causeway, bearer)
    quoted = causeway.banks[1].received[-1].headers["X-Request-Id"]

    assert quoted != request_id
    assert done("trace", quoted)["request_id"] == request_id


def test_trace_shows_the_consent_of_an_access_token_and_the_authorization_of_a_request(causeway: Causeway) -> None:
    asked, read = new_uuid(), new_uuid()
    headers = {"x-request-id": asked}
    scopes = {"bic": causeway.banks[1].bic, "scopes": causeway.banks[1].scopes}
    assert causeway.tpp.call("POST", "/tpp/authorize", scopes, headers=headers).status == 200
    bearer = causeway.tpp.tokens(1)["access_token"]
    causeway.tpp.call("GET", "/tpp/consent", bearer=bearer, headers={"x-request-id": read})

    assert len(done("trace", asked)["authorizations"]) == 1
    assert [consent["status"] for consent in done("trace", read)["consents"]] == ["authorised"]


def test_trace_finds_a_delivery_without_a_causing_request_by_the_delivery_id(causeway: Causeway) -> None:
    causeway.queued()
    made = causeway.hub.openbanking.clients.update(causeway.tpp.client_id, events_url="https://tpp.example.com/events")
    delivery_id = causeway.hub.openbanking.tpp_events.send_test(made.client)

    traced = done("trace", delivery_id)

    assert traced["request_id"] == causeway.delivery(delivery_id).request_id
    assert [delivery["delivery_id"] for delivery in traced["deliveries"]] == [delivery_id]


def test_trace_shows_records_without_secrets(causeway: Causeway) -> None:
    """The trace prints only listed members, so members that are added later are omitted."""
    request_id, state = new_uuid(), "the-state-of-the-tpp"
    consented = causeway.psu.approve(1, state=state)
    authorizations, consents = (list(causeway.hub.store.scan(table)) for table in ("authorizations", "consents"))
    consent = next(item for item in consents if item["part"] == "consent")
    payments = causeway.hub.openbanking.payments
    payment = payments.new(
        "ALPHGB21",
        "the-payment",
        api_version=1,
        kind="single",
        client_id=causeway.tpp.client_id,
        consent_id=consent["consent_id"],
        request_id=request_id,
        order_digest=None,
        status=4,
    )
    put = payments.put_payment(payment)
    causeway.hub.store.put(put.table, {**put.item, "added_later": "hush"})
    log.bind(request_id=request_id)
    log.info("line", authorization_id=authorizations[0]["authorization_id"], bic="ALPHGB21", payment_id="the-payment")
    log.clear()

    traced = done("trace", request_id)
    text = run("trace", request_id).stdout + json.dumps(traced)

    assert traced["authorizations"][0]["consent_id"] == consent["consent_id"]
    assert traced["consents"][0]["status"] == "authorised"
    assert traced["payments"][0]["history"] == [{"status": 4, "at": timestamp(causeway.clock.time())}]
    hidden = [state, "hush", "sealed", "digest", consented.query["code"], consented.bank_token]
    hidden += [item[name] for item in (*authorizations, *consents) for name in item if name.endswith("_digest")]
    assert [secret for secret in hidden if secret in text] == []


def test_trace_members_of_records_contain_no_secrets() -> None:
    for names in (trace.AUTHORIZATION, trace.CONSENT, trace.PAYMENT):
        assert not [name for name in names if name.endswith(("_sealed", "_digest", "_url", "state", "accounts"))]


def test_trace_omits_log_lines_before_the_time_of_the_option_since(causeway: Causeway, connected: Path) -> None:
    request_id = new_uuid()
    line = {"level": "INFO", "message": "request", "request_id": request_id, "service": "causeway"}
    now = causeway.hub.clock.now()
    connected.write_text(
        "".join(
            json.dumps({**line, "timestamp": f"2026-03-0{day} 08:59:59,123+0000", "route": f"/{day}"}) + "\n"
            for day in (1, 2)
        )
        + f"no JSON {request_id}\n"
        + json.dumps({"request_id": request_id})
    )

    assert now.isoformat() == "2026-03-02T09:00:00+00:00"
    assert [line["route"] for line in done("trace", request_id)["lines"]] == ["/2"]
    assert [line["route"] for line in done("trace", request_id, "--since", "3d")["lines"]] == ["/1", "/2"]
    assert done("trace", request_id, "--since", "3d")["lines"][0]["at"] == "2026-03-01T08:59:59.123+00:00"


@pytest.mark.parametrize("by_delivery", [False, True])
def test_trace_finds_log_lines_written_after_the_clock_was_moved(
    causeway: Causeway, bearer: str, monkeypatch: pytest.MonkeyPatch, by_delivery: bool
) -> None:
    """Log lines contain the real time, not the business time."""
    request_id = revoked(causeway, bearer)
    traced = done("trace", request_id)
    monkeypatch.setattr(causeway.hub, "clock", MovedClock(causeway.clock, lambda: 36_500 * 24 * 3600))

    found = done("trace", traced["deliveries"][0]["delivery_id"] if by_delivery else request_id)
    recent = done("trace", request_id, "--since", "2d")

    assert found["lines"] == recent["lines"] == traced["lines"]


def test_trace_of_an_unknown_request_names_the_searched_log(connected: Path) -> None:
    request_id = new_uuid()

    assert refused("trace", request_id) == (
        f"nothing found about {request_id}: no log line since 2026-03-01T09:00:00+00:00 in {connected}"
    )


def test_trace_rejects_an_invalid_id_with_a_one_line_error_message() -> None:
    assert refused("trace", "nothing") == ("nothing is neither the id of a request (a UUID) nor of a stored delivery")


def test_trace_without_a_running_stack_is_refused(tmp_path: Path) -> None:
    (tmp_path / "stack.json").unlink()

    assert refused("trace", new_uuid()).startswith("no local stack is running, so there is no log to search")


def test_trace_help_shows_an_example_and_the_json_option() -> None:
    text = run("trace", "--help").stdout

    assert ".venv/bin/python -m infra.admin trace" in text
    assert "--json" in text
    assert "\b" not in text
    assert "trace " in run("--help").stdout


class FakeLogs:
    def __init__(self, groups: dict[str, list[str]]) -> None:
        self._groups = groups
        self.asked: list[dict[str, Any]] = []

    def get_paginator(self, operation: str) -> Any:
        return SimpleNamespace(paginate=getattr(self, f"_{operation}"))

    def _describe_log_groups(self, *, logGroupNamePrefix: str) -> Any:  # noqa: N803 - boto3's names
        names = [name for name in self._groups if name.startswith(logGroupNamePrefix)]
        return ({"logGroups": [{"logGroupName": name} for name in pair]} for pair in pieces(names, 2))

    def _filter_log_events(self, **request: Any) -> Any:
        self.asked.append(request)
        events = [{"message": text} for text in self._groups[request["logGroupName"]]]
        return ({"events": pair} for pair in pieces(events, 2))


def test_trace_reads_the_log_groups_of_all_functions_of_a_stage() -> None:
    request_id = new_uuid()

    def line(second: int, message: str, of: str = request_id) -> str:
        said = {"level": "INFO", "message": message, "timestamp": f"2026-03-02 09:00:0{second},000+0000"}
        return json.dumps({**said, "service": "causeway", "request_id": of, "xray_trace_id": "1-2"})

    logs = FakeLogs(
        {
            "/aws/lambda/causeway-dev": [line(1, "first"), line(2, "second"), line(4, "request"), "START RequestId: 1"],
            "/aws/lambda/causeway-dev-deliver": [line(5, "delivered"), line(3, "other", of=new_uuid())],
            "/aws/lambda/causeway-developer": [line(1, "of somebody else")],
        }
    )

    found = CloudWatchLog(logs, "causeway-dev").lines(request_id, 1_772_442_000)

    assert [(line.function, line.message) for line in found] == [
        ("api", "first"),
        ("api", "second"),
        ("api", "request"),
        ("deliver", "delivered"),
    ]
    assert all(line.members == {} for line in found)
    assert {request["logGroupName"] for request in logs.asked} == {
        "/aws/lambda/causeway-dev",
        "/aws/lambda/causeway-dev-deliver",
    }
    assert logs.asked[0]["filterPattern"] == (f'{{ ($.request_id = "{request_id}") || ($.sent_as = "{request_id}") }}')
    assert logs.asked[0]["startTime"] == 1_772_442_000_000


def test_the_log_search_of_a_stage_finds_the_lines_of_a_period_by_message() -> None:
    def line(second: int, message: str, **members: str) -> str:
        return json.dumps({"message": message, "timestamp": f"2026-03-02 09:00:0{second},000+0000", **members})

    start = 1_772_442_000
    logs = FakeLogs(
        {
            "/aws/lambda/causeway-dev": [line(1, "consent ended", by="tpp"), line(2, "request", of="consent ended")],
            "/aws/lambda/causeway-dev-deliver": [line(3, "delivery resent", by="owner"), line(9, "consent ended")],
        }
    )

    found = CloudWatchLog(logs, "causeway-dev").search(("consent ended", "delivery resent"), start, start + 5)

    assert [(said["message"], said["by"], at - start) for said, at in found] == [
        ("consent ended", "tpp", 1),
        ("delivery resent", "owner", 3),
    ]
    assert logs.asked[0]["filterPattern"] == '{ ($.message = "consent ended") || ($.message = "delivery resent") }'
    assert (logs.asked[0]["startTime"], logs.asked[0]["endTime"]) == (start * 1000, (start + 6) * 1000)


def test_the_calls_of_the_stage_log_are_valid_for_cloudwatch_logs(resources: None) -> None:
    boto3.client("logs").create_log_group(logGroupName="/aws/lambda/causeway-dev")
    log_of_stage = stage_log("causeway-dev")

    assert list(log_of_stage.lines(new_uuid(), 0)) == []
    assert log_of_stage.place == "the log groups /aws/lambda/causeway-dev*"


def test_trace_searches_the_log_groups_of_a_deployed_stage(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"STAGE": "dev", "PUBLIC_URL": "https://dev.example.com"}
    hub = causeway.another_process(Settings.from_environment(settings))
    monkeypatch.setattr(connection, "connect", lambda: hub)

    assert refused("trace", new_uuid()).endswith("in the log groups /aws/lambda/causeway-dev*")


def test_trace_reads_a_missing_log_file_as_empty(tmp_path: Path) -> None:
    assert list(LocalLog(tmp_path / "none").lines(new_uuid(), 0)) == []


def test_trace_shows_the_error_code_the_fields_and_the_client_of_a_refused_request(causeway: Causeway) -> None:
    request_id = new_uuid()
    body = {"bic": 7, "scopes": [], "o t h e r 4711": "x", "other": "x"}
    assert causeway.tpp.call("POST", "/tpp/authorize", body, headers={"x-request-id": request_id}).status == 400

    [error] = done("trace", request_id)["errors"]
    text = run("trace", request_id).stdout

    assert error["code"] == "FORMAT_ERROR"
    assert error["client_id"] == causeway.tpp.client_id
    assert {"bic", "other"} <= set(error["fields"])
    assert "4711" not in json.dumps(error)
    assert "other is not recognised" in error["title"]
    assert f"Error response\ncode       FORMAT_ERROR\ntitle      {error['title']}\n" in text


def test_trace_shows_the_http_status_of_the_bank_for_a_response_with_status_502(
    causeway: Causeway, bearer: str
) -> None:
    answered, broken = new_uuid(), new_uuid()
    causeway.banks[1].answers["/accounts"] = lambda sent: Reply(500, b'{"message":"Zoe owes 4711"}', {}, 0)
    assert causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers={"x-request-id": answered}).status == 502
    causeway.banks[1].answers["/accounts"] = lambda sent: Reply(200, b"Zoe owes 4711", {}, 0)
    assert causeway.tpp.call("GET", "/tpp/accounts", bearer=bearer, headers={"x-request-id": broken}).status == 502

    [of_status], [of_text] = (done("trace", request_id)["errors"] for request_id in (answered, broken))

    assert (of_status["bank_status"], of_text["bank_status"]) == (500, 200)
    assert of_status["bank_failure"] != of_text["bank_failure"]
    assert "4711" not in json.dumps([of_status, of_text])
    assert "bank_status" in run("trace", answered).stdout


def test_trace_shows_the_error_code_the_fields_and_the_credential_of_a_refused_card_action(causeway: Causeway) -> None:
    issuer = Issuer(causeway)
    wrong, repeated = new_uuid(), new_uuid()

    def post(request_id: str, **members: Any) -> None:
        body = jsontext.dumps(issuer.body("getCardStatus", **members)).encode()
        causeway.call("POST", "/api", body, {"content-type": "application/json", "x-request-id": request_id})

    post(wrong, card_id="x4711", note=1, **{"4711 or": 1})
    for request_id in (new_uuid(), repeated):
        post(request_id, card_id=987654321, request_reference_id="Reference0000000001")
    [of_fields], [of_repeat] = (done("trace", request_id)["errors"] for request_id in (wrong, repeated))

    assert (of_fields["code"], of_fields["title"]) == (2002, "a field has the wrong type")
    assert of_fields["fields"] == ["card_id", "note"]
    assert (of_fields["action"], of_fields["credential"]) == ("getCardStatus", "1.full")
    assert "4711" not in json.dumps(of_fields)
    assert (of_repeat["code"], of_repeat["title"]) == (3002, "there is no such card")
