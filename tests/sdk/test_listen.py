"""``causeway listen`` forwards every event in order with a signature, and a crash loses no event."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx import ByteStream

from causeway.errors import ApiError, ConfigurationError
from causeway.listen import AWAY_WAITS, POLL_SECONDS, WAITS, Receiver
from causeway.tpp import EventVerifier, UnknownEvent
from tests.sdk.event_log import PLACE, Answer, EventLog, Killed, Listening, MortalFile, event
from tests.sdk.scripted_hub import BASE, Clock, failure

pytestmark = pytest.mark.usefixtures("clock")
AGAIN = "send it again with --resend event-1"


@pytest.fixture
def listening(tmp_path: Path) -> Listening:
    return Listening(tmp_path, EventLog([event(number) for number in range(1, 8)]))


def ids(*numbers: int) -> list[str]:
    return [f"event-{number}" for number in numbers]


# Forwarding


def test_each_event_is_forwarded_once_and_in_chronological_order(listening: Listening, clock: Clock) -> None:
    printed = listening.run()

    assert listening.receiver.ids == ids(1, 2, 3, 4, 5, 6, 7)
    assert printed == [f"test  event-{number}  204 in 0 ms" for number in range(1, 8)]
    assert listening.log.cursors == [None, "place-3", "place-6", "place-7"]
    assert clock.slept == [POLL_SECONDS]
    assert listening.lines[0].startswith("2027-01-15T08:00:00Z  test")


def test_a_forwarded_event_is_signed_like_a_webhook(listening: Listening) -> None:
    listening.log.events = [event(1), event(2, "consent.renewed")]

    listening.run()

    verifier = EventVerifier(listening.file.load(BASE, "client-1").secret)
    received = [verifier.verify(request.headers, request.content) for request in listening.receiver.requests]
    assert [one.id for one in received] == ids(1, 2)
    assert isinstance(received[1].event, UnknownEvent)
    request = listening.receiver.requests[0]
    assert request.content == listening.log.events[0]["body"].encode()
    assert (request.method, str(request.url), request.headers["content-type"]) == ("POST", PLACE, "application/json")


def test_each_attempt_has_a_new_timestamp_and_the_same_event_id(listening: Listening, clock: Clock) -> None:
    listening.receiver.answers = [500]
    listening.run()

    first, second = listening.receiver.requests[:2]
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) == WAITS[0]
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]


def test_only_the_selected_event_types_are_forwarded(listening: Listening) -> None:
    kinds = ("consent.authorised", "payment.status_changed", "test", "consent.revoked")
    listening.log.events = [event(number, kind) for number, kind in enumerate(kinds, 1)]

    listening.run(["payment.*", "test"])
    listening.run(["consent.*"])

    assert listening.receiver.ids == ids(2, 3)


# Restarts


def test_a_later_run_of_listen_continues_after_the_last_event(listening: Listening) -> None:
    listening.run()
    listening.log.events += [event(8), event(9)]

    listening.run()

    assert listening.receiver.ids == ids(*range(1, 10))


@pytest.mark.parametrize("number", range(1, 9))
def test_a_listener_killed_before_recording_a_status_duplicates_at_most_one_event(
    listening: Listening, number: int
) -> None:
    kill_at_save(listening, number, before=True)
    listening.run()

    twice = {one for one in listening.receiver.ids if listening.receiver.ids.count(one) > 1}
    assert list(dict.fromkeys(listening.receiver.ids)) == ids(*range(1, 8))
    assert len(twice) <= 1


@pytest.mark.parametrize("number", range(1, 9))
def test_a_listener_killed_after_recording_a_response_duplicates_no_event(listening: Listening, number: int) -> None:
    kill_at_save(listening, number, before=False)
    listening.run()

    assert listening.receiver.ids == ids(*range(1, 8))


def kill_at_save(listening: Listening, number: int, *, before: bool) -> None:
    listening.file.load(BASE, "client-1")
    with pytest.raises(Killed):
        listening.run(file=MortalFile(listening.file.path, number, before=before))


def test_an_event_that_becomes_visible_late_is_forwarded_without_loss_or_duplicates(listening: Listening) -> None:
    listening.receiver.answers = [204, 204, Killed()]
    with pytest.raises(Killed):
        listening.run()
    listening.log.events.insert(0, event(0))  # the page after the same place has another first event, and another last

    listening.run()

    assert listening.receiver.ids == ids(1, 2, 3, 0, 3, 4, 5, 6, 7)
    assert len(listening.file.load(BASE, "client-1").handled) == 8


def test_an_event_that_the_hub_records_again_is_forwarded_again(listening: Listening) -> None:
    listening.log.events = [event(1), event(2), event(3, name="event-1")]

    listening.run()

    assert listening.receiver.ids == ids(1, 2, 1)


def test_the_listen_state_contains_only_recent_events(listening: Listening) -> None:
    listening.log.events = [event(number, at=number * 60) for number in range(1, 31)]

    listening.run()

    state = listening.file.load(BASE, "client-1")
    assert [name for name, _ in state.handled] == ids(25, 26, 27, 28, 29, 30)
    assert set(state.handled.values()) == {"204"}


def test_a_cursor_that_the_hub_rejects_is_rebuilt_from_the_oldest_event(listening: Listening) -> None:
    listening.log.events = [event(number, at=number * 60) for number in range(1, 31)]
    listening.run()
    listening.log.events.append(event(31, at=31 * 60))
    listening.log.events.append(event(32, at=28.5 * 60))  # visible late
    listening.log.answers = [failure(400, "PARAMETER_NOT_CONSISTENT", "after is not the next of a page")]
    listening.log.cursors.clear()

    printed = listening.run()

    assert listening.receiver.ids == ids(*range(1, 33))
    assert listening.log.cursors[:2] == ["place-30", None]
    assert printed[0] == "the hub no longer knows the place of the last event: looking for it from the oldest one"


def test_a_listener_killed_while_rebuilding_its_cursor_duplicates_no_event(listening: Listening) -> None:
    listening.log.events = [event(number, at=number * 60) for number in range(1, 31)]
    listening.run()
    listening.log.answers = [failure(400, "PARAMETER_NOT_CONSISTENT")]
    kill_at_save(listening, 4, before=False)

    listening.run()

    assert listening.receiver.ids == ids(*range(1, 31))


# A receiver that fails


def test_a_failing_receiver_gets_an_event_four_times_before_the_next_event(listening: Listening, clock: Clock) -> None:
    listening.log.events = [event(1), event(2)]
    listening.receiver.answers = [500, 302, httpx.ReadTimeout("slow"), httpx.RemoteProtocolError("rude")]

    printed = listening.run()

    assert printed == [
        "test  event-1  500, again in 1 s",
        "test  event-1  302, again in 5 s",
        "test  event-1  no answer within 20 s, again in 30 s",
        f"test  event-1  no answer (RemoteProtocolError), failed after 4 attempts: {AGAIN}",
        "test  event-2  204 in 0 ms",
    ]
    assert clock.slept[:3] == list(WAITS)
    assert list(listening.file.load(BASE, "client-1").handled.values()) == ["no answer (RemoteProtocolError)", "204"]


def test_a_failed_event_is_not_forwarded_again_automatically(listening: Listening) -> None:
    listening.log.events = [event(1)]
    listening.receiver.answers = [500] * 4
    listening.run()

    listening.run()

    assert listening.receiver.ids == ids(1, 1, 1, 1)


def test_the_retry_after_header_of_the_receiver_extends_a_wait_to_at_most_twice_its_length(
    listening: Listening, clock: Clock
) -> None:
    listening.receiver.answers = [
        httpx.Response(503, headers={"Retry-After": "600"}),
        httpx.Response(503, headers={"Retry-After": "7"}),
        httpx.Response(503, headers={"Retry-After": "soon"}),
    ]

    listening.run()

    assert clock.slept[:3] == [2, 7, 30]


def test_a_410_response_of_the_receiver_ends_the_retries_of_an_event(listening: Listening) -> None:
    listening.log.events = [event(1)]
    listening.receiver.answers = [410]

    printed = listening.run()

    assert printed == ["test  event-1  410, failed at once: send it again with --resend event-1"]


def test_the_response_status_of_the_receiver_is_evaluated_for_any_body(listening: Listening) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 1000

    def broken() -> Iterator[bytes]:
        yield b"x"
        raise httpx.ReadError("reset")

    damaged = httpx.Response(204, headers={"Content-Encoding": "gzip"}, stream=ByteStream(b"no gzip"))
    listening.receiver.answers = [
        httpx.Response(200, content=endless()),
        damaged,
        httpx.Response(201, content=broken()),
    ]

    printed = listening.run()

    statuses = ((1, 200), (2, 204), (3, 201))
    assert printed[:3] == [f"test  event-{number}  {status} in 0 ms" for number, status in statuses]


@pytest.mark.parametrize("status", [301, 302, 307])
def test_a_redirect_by_the_receiver_counts_as_a_failure(listening: Listening, status: int) -> None:
    moved = httpx.Response(status, headers={"Location": "http://elsewhere.example"})
    listening.receiver.answers = [moved]

    assert listening.run()[0] == f"test  event-1  {status}, again in 1 s"
    assert {request.url.host for request in listening.receiver.requests} == {"127.0.0.1"}


def test_an_unreachable_receiver_prints_one_line_and_is_retried(listening: Listening, clock: Clock) -> None:
    away: list[Answer] = [httpx.ConnectError("refused")] * 20
    listening.receiver.answers = [*away, 500, httpx.ConnectTimeout("late")]

    printed = listening.run()

    assert printed[:4] == [
        "the receiver is away, waiting for it: no connection (ConnectError)",
        "test  event-1  500, again in 1 s",
        "the receiver is away, waiting for it: no connection (ConnectTimeout)",
        "test  event-1  204 in 0 ms",
    ]
    assert clock.slept[:20] == [*AWAY_WAITS, *[AWAY_WAITS[-1]] * 15]
    assert list(dict.fromkeys(listening.receiver.ids)) == ids(*range(1, 8))


def test_an_event_is_signed_again_when_the_receiver_recovers(listening: Listening) -> None:
    listening.receiver.answers = [httpx.ConnectError("refused")] * 30

    listening.run()

    verifier = EventVerifier(listening.file.load(BASE, "client-1").secret)
    taken = listening.receiver.requests[-1]
    assert verifier.verify(taken.headers, taken.content).id == "event-7"


# A hub that fails


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (httpx.ConnectError("refused"), f"events: no connection to {BASE} (ConnectError)"),
        (httpx.ReadTimeout("slow"), "events: the connection broke or no answer came in time (ReadTimeout)"),
        (httpx.Response(200, text="<html>"), "events: the answer is no JSON object"),
        (httpx.Response(503, text="<html>"), "503 without a code: no answer of the hub"),
        (failure(500, "INTERNAL_SERVER_ERROR", "broken"), "500 INTERNAL_SERVER_ERROR: broken"),
    ],
    ids=str,
)
def test_an_unreachable_hub_prints_one_line_and_is_retried(
    listening: Listening, clock: Clock, answer: Any, line: str
) -> None:
    listening.log.answers = [answer] * 7

    printed = listening.run()

    assert printed[0].startswith(f"the hub is away, waiting for it: {line}")
    assert printed[1] == "test  event-1  204 in 0 ms"
    assert clock.slept[:7] == [*AWAY_WAITS, AWAY_WAITS[-1], AWAY_WAITS[-1]]


def test_the_retry_after_header_of_the_hub_extends_the_wait_before_the_next_poll(
    listening: Listening, clock: Clock
) -> None:
    listening.log.answers = [failure(429, "ACCESS_EXCEEDED", "too many calls", retry_after=60)]

    listening.run()

    assert clock.slept[0] == 60


def test_wrong_credentials_end_the_listen_command(listening: Listening) -> None:
    listening.log.answers = [failure(401, "WRONG_CREDENTIALS", "the client secret is wrong")]

    with pytest.raises(ApiError, match="the client secret is wrong"):
        listening.listener().run()


# Resending


def test_resending_an_event_does_not_change_the_listen_state(listening: Listening) -> None:
    listening.run()
    before = listening.file.path.read_bytes()
    listening.receiver.requests.clear()
    listening.log.answers = []

    assert listening.listener().resend(["event-6", "event-2"]) is True

    assert listening.receiver.ids == ids(6, 2)
    assert listening.messages[-1] == "test  event-2  204 in 0 ms"
    assert listening.file.path.read_bytes() == before


def test_resending_reports_unknown_and_failing_events(listening: Listening) -> None:
    listening.receiver.answers = [httpx.ConnectError("refused")] * 4

    assert listening.listener().resend(["event-1", "event-99"]) is False

    assert listening.messages == [
        "event-99  the hub does not keep such an event",
        *[f"test  event-1  no connection (ConnectError), again in {wait} s" for wait in (1, 5, 30)],
        f"test  event-1  no connection (ConnectError), failed after 4 attempts: {AGAIN}",
    ]


# Interrupts


def test_an_interrupt_waits_for_the_response_to_a_sent_event(listening: Listening) -> None:
    listening.receiver.on_request = lambda: (
        listening.interrupts.on_signal() if len(listening.receiver.ids) == 2 else None
    )

    listening.run()
    listening.receiver.on_request = lambda: None
    listening.interrupts = type(listening.interrupts)()
    listening.run()

    assert listening.receiver.ids == ids(*range(1, 8))


def test_a_second_interrupt_ends_the_run_without_waiting(listening: Listening) -> None:
    def twice() -> None:
        listening.interrupts.on_signal()
        listening.interrupts.on_signal()

    listening.receiver.on_request = twice
    listening.run()
    listening.receiver.on_request = lambda: None
    listening.interrupts = type(listening.interrupts)()
    listening.run()

    assert listening.receiver.ids == ids(1, *range(1, 8))


def test_an_interrupt_ends_a_wait_of_the_listen_command_immediately(
    listening: Listening, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from causeway import _waiting

    listening.receiver.answers = [500]
    monkeypatch.setattr(_waiting, "sleep", lambda seconds: listening.interrupts.on_signal())

    listening.run()

    assert listening.receiver.ids == ids(1)


# The receiver's address


@pytest.mark.parametrize(
    "url", ["127.0.0.1:9701", "ftp://127.0.0.1", "http://", "", "http://h:99999", "http://[::1", "http://h\x00"]
)
def test_a_receiver_without_an_http_address_is_rejected(url: str) -> None:
    with pytest.raises(ConfigurationError, match="--forward-to must be an http or https address"):
        Receiver(url, "whsec_c2VjcmV0")


def test_no_output_contains_the_password_of_the_receiver_address() -> None:
    assert (
        Receiver("https://ada:secret@127.0.0.1:1/x", "whsec_c2VjcmV0").url_without_password == "https://127.0.0.1:1/x"
    )
