"""A call of an AWS service is signed and sent once. An error states whether AWS may have executed the call."""

import contextlib
import json
import re
import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from chalicelib.foundation.aws import calls, environment, signing
from chalicelib.foundation.aws.calls import COST, Call, Members, Proceed, RepeatBudget, observe, send, send_twice
from chalicelib.foundation.aws.errors import ErrorResponse, NoAnswer, NotSent
from chalicelib.foundation.context import CapturedHeaders, capturing
from chalicelib.foundation.http import connection_pool, deadline_connections
from chalicelib.foundation.http.deadline_connections import SlowCheck
from chalicelib.foundation.http.outbound import Outbound
from chalicelib.foundation.parallel import together
from chalicelib.foundation.version import USER_AGENT
from tests.kit.certificates import self_signed
from tests.kit.http import Connection, SocketServer, free_port, server_context, socket_server
from tests.kit.time import PATIENCE_SECONDS

BODY = {"TableName": "clients", "Key": {"id": {"S": "ä"}}}


@pytest.fixture(autouse=True)
def own_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start with an empty connection pool, no clock skew, and credentials in environment variables."""
    monkeypatch.setattr(calls, "connections", connection_pool.Connections(idle_seconds=calls.IDLE_SECONDS))
    monkeypatch.setattr(signing, "skew_seconds", 0.0)
    for name, value in {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AKID"}.items():
        monkeypatch.setenv(name, value)
    for name in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a context manager that starts a server with the given behaviour and sends all AWS calls to this server."""

    class Called:
        def __init__(self, behaviour: Callable[[Connection], None], tls: ssl.SSLContext | None = None) -> None:
            self._serving = socket_server(behaviour, tls)

        def __enter__(self) -> SocketServer:
            server = self._serving.__enter__()
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"{server.scheme}://127.0.0.1:{server.port}")
            return server

        def __exit__(self, *raised: Any) -> None:
            self._serving.__exit__(*raised)

    return Called


def answers(*of: tuple[int, bytes] | tuple[int, bytes, bytes]) -> Callable[[Connection], None]:
    """Return a server behaviour that sends the given responses in order. After the last response, the behaviour sends
    this response again for each request.
    """
    left = [*of]

    def behave(connection: Connection) -> None:
        while connection.request():
            status, body, *headers = left.pop(0) if len(left) > 1 else left[0]
            connection.answer(body, f"{status} Said", b"".join(headers))

    return behave


GOOD = answers((200, b"{}"))


def head(server: SocketServer, number: int = 0) -> dict[str, str]:
    first, *lines = server.requests[number][1].partition(b"\r\n\r\n")[0].decode().split("\r\n")
    return {"": first} | {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


@pytest.mark.parametrize(
    ("service", "target", "version"),
    [
        ("dynamodb", "DynamoDB_20120810", "1.0"),
        ("kms", "TrentService", "1.1"),
        ("secretsmanager", "secretsmanager", "1.1"),
        ("sqs", "AmazonSQS", "1.0"),
    ],
)
def test_an_aws_call_is_sent_as_a_signed_post_request(
    service: str, target: str, version: str, called: Callable[..., Any]
) -> None:
    with called(GOOD) as server:
        assert send(service, "GetItem", BODY) == {}

    sent = head(server)
    assert sent[""] == "POST / HTTP/1.1"
    assert sent["x-amz-target"] == f"{target}.GetItem"
    assert sent["content-type"] == f"application/x-amz-json-{version}"
    assert (sent["user-agent"], sent["accept-encoding"]) == (USER_AGENT, "identity")
    assert json.loads(server.requests[0][1].partition(b"\r\n\r\n")[2]) == BODY
    assert sent["x-amz-security-token"] == "token"
    signature = rf"AWS4-HMAC-SHA256 Credential=AKID/\d{{8}}/eu-west-1/{service}/aws4_request, "
    assert re.match(signature, sent["authorization"])


def test_only_a_lambda_function_sends_the_trace_header_with_aws_calls(
    called: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
    monkeypatch.setenv("_X_AMZN_TRACE_ID", trace)
    with called(GOOD) as server:
        send("sqs", "SendMessage", {})
        monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "causeway-dev-deliver")
        send("sqs", "SendMessage", {})

    assert ("x-amzn-trace-id" in head(server), head(server, 1)["x-amzn-trace-id"]) == (False, trace)


# -- observers


def test_the_last_added_observer_is_called_first(called: Callable[..., Any]) -> None:
    seen: list[str] = []

    def observer(name: str) -> calls.Observer:
        def see(call: Call, proceed: Proceed) -> Members:
            seen.append(f"{name} before {call.operation}")
            answer = proceed(call)
            seen.append(f"{name} after {answer}")
            return answer

        return see

    with called(answers((200, b'{"a":1}'))), observe(observer("outer")), observe(observer("inner")):
        send("kms", "Decrypt", {})

    assert seen == ["inner before Decrypt", "outer before Decrypt", "outer after {'a': 1}", "inner after {'a': 1}"]


def test_an_observer_can_replace_the_response_or_change_the_request_of_an_aws_call(called: Callable[..., Any]) -> None:
    with called(GOOD) as server:
        with observe(lambda call, proceed: {"answered": call.operation}):
            assert send("kms", "Decrypt", {}) == {"answered": "Decrypt"}
        with observe(lambda call, proceed: proceed(Call(call.service, call.operation, {"b": 2}))):
            send("kms", "Decrypt", {"a": 1})

    assert [request.partition(b"\r\n\r\n")[2] for _, request in server.requests] == [b'{"b":2}']


# -- ends


def test_a_refused_connection_raises_not_sent_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")

    with pytest.raises(NotSent, match="could not connect to dynamodb at 127"):
        send("dynamodb", "GetItem", BODY)


def hang_up(connection: Connection) -> None:
    connection.request()


def half_an_answer(connection: Connection) -> None:
    connection.request()
    connection.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"Item":')


def half_a_head(connection: Connection) -> None:
    connection.request()
    connection.send(b"HTTP/1.1 200 OK\r\nContent-")


def other_bytes(connection: Connection) -> None:
    connection.request()
    connection.answer(b'{"Item":{}}', headers=f"x-amz-crc32: {zlib.crc32(b'{}')}\r\n".encode())


@pytest.mark.parametrize("behaviour", [hang_up, half_an_answer, half_a_head, other_bytes])
def test_an_incomplete_aws_response_raises_no_answer_and_is_not_retried(
    behaviour: Callable[[Connection], None], called: Callable[..., Any]
) -> None:
    with called(behaviour) as server, pytest.raises(NoAnswer):
        send("dynamodb", "PutItem", BODY)

    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "head", [b"Content-Length: 99999999999999", b"Content-Length: 9" + b"9" * 30, b"Content-Length: 40000000"]
)
def test_a_response_with_an_invalid_content_length_raises_the_no_answer_exception(
    head: bytes, called: Callable[..., Any]
) -> None:
    def absurd(connection: Connection) -> None:
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n{}")

    with called(absurd), pytest.raises(NoAnswer):
        send("dynamodb", "PutItem", BODY)


def test_aws_error_messages_contain_no_secrets(called: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://user:word@127.0.0.1:{free_port()}")
    with pytest.raises(NotSent) as caught:
        send("dynamodb", "PutItem", BODY)
    quoting = b'{"__type":"SignatureDoesNotMatch","message":"x-amz-security-token:token"}'
    with called(answers((403, quoting))), pytest.raises(ErrorResponse, match=r"^PutItem: SignatureDoesNotMatch$"):
        send("dynamodb", "PutItem", BODY)

    assert "word" not in str(caught.value)


def test_an_aws_error_response_raises_an_error_with_the_error_code(called: Callable[..., Any]) -> None:
    refusal = b'{"__type":"com.amazonaws.dynamodb.v20120810#ValidationException","message":"no"}'
    with called(answers((400, refusal))), pytest.raises(ErrorResponse, match="PutItem: ValidationException: no"):
        send("dynamodb", "PutItem", BODY)


def test_an_expired_session_token_is_replaced_once(called: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    def found(*, instead_of: environment.Credentials | None = None) -> environment.Credentials:
        asked.append(instead_of and instead_of.access_key)
        return environment.Credentials(f"key-{len(asked)}", "secret", "token")

    monkeypatch.setattr(environment, "credentials", found)
    expired = (400, b'{"__type":"ExpiredTokenException"}')
    with called(answers(expired, (200, b"{}"), expired)) as server:
        assert send("sqs", "SendMessage", {}) == {}
        with pytest.raises(ErrorResponse, match="ExpiredToken"):
            send("sqs", "SendMessage", {})

    assert asked == [None, "key-1", None, "key-3"]
    assert ["Credential=key-2" in head(server, 1)["authorization"], len(server.requests)] == [True, 4]


def test_a_wrong_local_clock_is_corrected_once_with_the_date_header_of_aws(called: Callable[..., Any]) -> None:
    there = datetime.now(UTC) + timedelta(hours=3)
    date = f"Date: {format_datetime(there, usegmt=True)}\r\n".encode()
    refused = (403, b'{"__type":"InvalidSignatureException"}', date)
    with called(answers(refused, (200, b"{}"), refused)) as server:
        assert send("sqs", "SendMessage", {}) == {}
        with pytest.raises(ErrorResponse):
            send("sqs", "SendMessage", {})

    signed = [datetime.strptime(head(server, number)["x-amz-date"], "%Y%m%dT%H%M%S%z") for number in (0, 1, 2)]
    assert timedelta(hours=2) < signed[1] - signed[0]
    assert timedelta(hours=2) < signed[2] - signed[0]
    assert len(server.requests) == 3, "a signature that is wrong at the right time is not repeated"


def test_parallel_calls_with_clock_skew_all_succeed(called: Callable[..., Any]) -> None:
    there = datetime.now(UTC) + timedelta(hours=3)
    date = f"Date: {format_datetime(there, usegmt=True)}\r\n".encode()
    together_there = threading.Barrier(4)

    def behave(connection: Connection) -> None:
        while request := connection.request():
            if f"x-amz-date: {there:%Y%m%d}t{there:%H}".encode() in request.lower():
                connection.answer(b"{}")
                continue
            together_there.wait(PATIENCE_SECONDS)
            connection.answer(b'{"__type":"InvalidSignatureException"}', "403 Forbidden", date)

    with called(behave):
        assert together([lambda: send("sqs", "SendMessage", {})] * 4) == [{}] * 4


# -- repeats


REFUSED: Mapping[str, tuple[int, bytes]] = {
    "failed": (500, b'{"__type":"InternalFailure"}'),
    "throttled": (400, b'{"__type":"ThrottlingException"}'),
    "a gateway": (502, b"<html></html>"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_an_idempotent_aws_call_is_retried_once(reason: str, called: Callable[..., Any]) -> None:
    pauses: list[float] = []
    with called(answers(REFUSED[reason], (200, b"{}"), REFUSED[reason])) as server:
        assert send_twice("kms", "Decrypt", {}, pauses.append, RepeatBudget()) == {}
        with pytest.raises(ErrorResponse):
            send_twice("kms", "Decrypt", {}, pauses.append, RepeatBudget())

    assert (len(server.requests), len(pauses)) == (4, 2)
    assert all(0 <= pause <= 1 for pause in pauses)


def test_throttled_calls_are_retried_within_the_retry_budget(called: Callable[..., Any]) -> None:
    budget, throttled = RepeatBudget(COST), REFUSED["throttled"]
    with called(answers(throttled, (200, b"{}"), throttled, throttled, throttled)) as server:
        assert send_twice("kms", "Decrypt", {}, lambda seconds: None, budget) == {}  # which gives the repeat back
        for _ in range(2):
            with pytest.raises(ErrorResponse):
                send_twice("kms", "Decrypt", {}, lambda seconds: None, budget)

    assert len(server.requests) == 2 + 2 + 1


def test_a_throttled_call_waits_for_the_retry_after_time(called: Callable[..., Any]) -> None:
    pauses: list[float] = []
    with called(answers((400, b'{"__type":"ThrottlingException"}', b"Retry-After: 1\r\n"), (200, b"{}"))):
        send_twice("kms", "Decrypt", {}, pauses.append, RepeatBudget())

    assert pauses == [1]


def test_a_call_with_a_lost_response_is_retried_once(called: Callable[..., Any]) -> None:
    with called(hang_up) as server, pytest.raises(NoAnswer):
        send_twice("kms", "Decrypt", {}, lambda seconds: None)

    assert len(server.requests) == 2


def test_a_lost_response_followed_by_an_unsent_retry_raises_the_no_answer_exception(
    called: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def pause(seconds: float) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")

    with called(hang_up), pytest.raises(NoAnswer):
        send_twice("sqs", "SendMessage", {}, pause)


def test_a_call_with_a_permanent_error_is_not_retried(called: Callable[..., Any]) -> None:
    with called(answers((400, b'{"__type":"AccessDeniedException"}'))) as server, pytest.raises(ErrorResponse):
        send_twice("kms", "Decrypt", {}, lambda seconds: None)

    assert len(server.requests) == 1


# -- connections


def test_an_aws_connection_is_reused_for_five_seconds(
    called: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_000.0]
    monkeypatch.setattr(connection_pool, "wall_time", lambda: now[0])
    with called(GOOD) as server:
        for passed in (0.0, 5.0, 5.1, -1.0):
            now[0] += passed
            send("dynamodb", "GetItem", BODY)

    assert server.served == [1, 1, 2, 3]


def test_header_capture_does_not_record_the_headers_of_aws_calls(called: Callable[..., Any]) -> None:
    captured = CapturedHeaders()
    with called(GOOD), capturing(captured):
        send("kms", "Decrypt", {})

    assert (captured.sent, captured.received) == (None, None)


def test_the_check_function_of_a_slow_call_can_make_an_aws_call_in_the_same_thread(called: Callable[..., Any]) -> None:
    """A slow call runs its check in the same thread, and the check reads storage."""
    checked = threading.Event()

    def slow(connection: Connection) -> None:
        connection.request()
        checked.wait(PATIENCE_SECONDS)
        connection.answer(b"late")

    def check() -> None:
        send("dynamodb", "GetItem", BODY)
        checked.set()

    with called(GOOD), socket_server(slow) as bank:
        outbound = Outbound(public_only=False, total_seconds=PATIENCE_SECONDS)
        reply = outbound.post(bank.url, b"{}", {}, repeat=False, slow_check=SlowCheck(0, check))

    assert reply.body == b"late"


# -- TLS and proxies


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return self_signed(tmp_path)


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    return server_context(certificate)


def test_aws_calls_trust_only_the_configured_tls_authorities(
    called: Callable[..., Any], certificate: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadline_connections.tls_context.cache_clear()
    with called(GOOD, tls) as server:
        with pytest.raises(NotSent, match="no TLS connection"):
            send("dynamodb", "GetItem", BODY)
        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
        send("dynamodb", "GetItem", BODY)
        send("sqs", "SendMessage", BODY)

    assert server.served == [2, 2]
    assert deadline_connections.tls_context.cache_info().misses == 2


def test_the_aws_tls_context_requires_tls_1_2_and_checks_the_host_name() -> None:
    context = deadline_connections.tls_context(environment.authorities())

    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)


def test_a_proxy_receives_a_connect_request_but_no_content_of_aws_calls(
    called: Callable[..., Any], certificate: Path, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    with called(GOOD, tls) as server, socket_server(_tunnel(server.port)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:w%40rd@127.0.0.1:{proxy.port}")
        for _ in range(2):
            assert send("dynamodb", "GetItem", BODY) == {}

    ((_, asked),) = proxy.requests
    lines = asked.decode().split("\r\n")
    assert lines[0].startswith(f"CONNECT 127.0.0.1:{server.port} HTTP/1.")
    assert {line.lower() for line in lines} >= {"proxy-authorization: basic dxnlcjp3qhjk"}
    assert len(server.requests) == 2


def test_a_proxy_that_refuses_the_connection_raises_not_sent_error(
    called: Callable[..., Any], tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    with called(GOOD, tls) as server, socket_server(answers((403, b""))) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        with pytest.raises(NotSent):
            send("dynamodb", "PutItem", BODY)

    assert server.requests == []


def _tunnel(port: int) -> Callable[[Connection], None]:
    def behave(connection: Connection) -> None:
        connection.request()
        connection.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with socket.create_connection(("127.0.0.1", port)) as there:
            back = threading.Thread(target=_pump, args=(there, connection.sock), daemon=True)
            back.start()
            _pump(connection.sock, there)
            back.join(PATIENCE_SECONDS)

    return behave


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while content := source.recv(65536):
            sink.sendall(content)
        sink.shutdown(socket.SHUT_WR)
