"""The local HTTP server behaves like API Gateway in cases in which Chalice's server does not."""

import contextlib
import http.client
import json
import re
import socket
from collections.abc import Iterator

import pytest
from chalice.app import Chalice, Response
from chalice.config import Config

from infra.local import server
from infra.strict_http import LARGEST_BODY
from tests.kit.http import serving
from tests.kit.time import PATIENCE_SECONDS


@contextlib.contextmanager
def serving_app(app: Chalice) -> Iterator[int]:
    config = Config(chalice_stage="local", user_provided_params={"chalice_app": app, "lambda_memory_size": 128})
    built = server.build_server(app, config, server.take_port(0), own_urls=["https://Public.example:8443/dev"])
    with serving(built) as running:
        yield running.server_port


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    app = Chalice("small", configure_logs=False, env={})

    @app.route("/echo", methods=["GET", "POST"], content_types=["application/json", "text/plain"])
    def echo() -> Response:
        request = app.current_request
        assert request is not None
        assert isinstance(request.raw_body, bytes)
        return Response(request.raw_body.decode() or "nothing", headers={"Content-Type": "text/plain"})

    @app.route("/headers")
    def headers() -> Response:
        request = app.current_request
        assert request is not None
        return Response(json.dumps(request.to_original_event()["multiValueHeaders"]))

    @app.route("/cookies")
    def cookies() -> Response:
        return Response("ok", headers={"Set-Cookie": ["a=1", "b=2"]})

    with serving_app(app) as port:
        yield port


@pytest.fixture
def connection(port: int) -> Iterator[http.client.HTTPConnection]:
    opened = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    yield opened
    opened.close()


def raw(port: int, request: bytes) -> tuple[bytes, bytes]:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as opened:
        opened.sendall(request)
        received = b""
        while chunk := opened.recv(65536):
            received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    return head, body


def post(length: str, body: bytes = b"") -> bytes:
    return (
        b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n" + length.encode() + b"\r\n\r\n" + body
    )


def test_a_request_with_expect_100_continue_receives_an_interim_response_before_the_body(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as opened:
        head, _, body = post("Content-Length: 2", b"{}").partition(b"\r\n\r\n")
        opened.sendall(head + b"\r\nExpect: 100-continue\r\n\r\n")
        interim = opened.recv(len(b"HTTP/1.1 100 Continue\r\n\r\n"), socket.MSG_WAITALL)
        opened.sendall(body)
        answer = opened.recv(65536)

    assert interim == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer.startswith(b"HTTP/1.1 ")


def test_a_connection_serves_several_requests(connection: http.client.HTTPConnection) -> None:
    for body in (b"one", b"two", b"three"):
        connection.request("POST", "/echo", body, {"Content-Type": "text/plain"})
        assert connection.getresponse().read() == body


def test_the_server_disables_nagle_and_has_a_long_backlog() -> None:
    assert server.ApiHandler.disable_nagle_algorithm is True
    assert server.ApiServer.request_queue_size >= 128


def test_a_head_request_returns_no_body_and_the_connection_remains_open(connection: http.client.HTTPConnection) -> None:
    connection.request("HEAD", "/echo")
    answer = connection.getresponse()
    assert answer.read() == b""
    connection.request("POST", "/echo", b"still in step", {"Content-Type": "text/plain"})
    assert connection.getresponse().read() == b"still in step"


@pytest.mark.parametrize("path", ["/echo", "/nowhere"])
def test_error_responses_to_head_requests_have_no_body(port: int, path: str) -> None:
    head, body = raw(port, f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert head.startswith(b"HTTP/1.1 4")
    assert re.search(rb"\r\nContent-Length: [1-9]", head)
    assert body == b""


@pytest.mark.parametrize("method", ["FOO", "PROPFIND", "TRACE", "OPTIONS"])
def test_requests_with_unusual_methods_reach_the_application(
    connection: http.client.HTTPConnection, method: str
) -> None:
    connection.request(method, "/echo")
    assert connection.getresponse().status == 405


@pytest.mark.usefixtures("causeway")
@pytest.mark.parametrize(("method", "status"), [("HEAD", b"200"), ("OPTIONS", b"204")])
def test_responses_without_a_body_have_no_content_length(method: str, status: bytes) -> None:
    import app

    with serving_app(app.app) as port:
        head, body = raw(port, f"{method} /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert (head.split()[1], body) == (status, b"")
    assert b"Content-Length" not in head


@pytest.mark.usefixtures("causeway")
@pytest.mark.parametrize("method", ["OPTIONS", "HEAD", "GET", "TRACE"])
def test_a_request_with_an_unsupported_method_for_a_service_route_returns_401(method: str) -> None:
    import app

    with serving_app(app.app) as port:
        head, body = raw(port, f"{method} /tpp/token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert head.startswith(b"HTTP/1.1 401")
    assert method == "HEAD" or json.loads(body)["code"] == "API_ACTION_DOES_NOT_EXIST"


def test_an_unknown_route_returns_the_403_of_api_gateway(connection: http.client.HTTPConnection) -> None:
    connection.request("GET", "/nowhere")
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())) == (403, {"message": "Missing Authentication Token"})


def test_an_unknown_route_with_a_non_ascii_authorization_header_returns_403(port: int) -> None:
    head, body = raw(
        port, b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nAuthorization: \xe9\r\nConnection: close\r\n\r\n"
    )
    assert head.startswith(b"HTTP/1.1 403")
    assert json.loads(body) == {"message": "Missing Authentication Token"}


@pytest.mark.parametrize(
    ("length", "status"),
    [
        ("Content-Length: -1", 400),
        ("Content-Length: many", 400),
        ("Content-Length: 1e3", 400),
        ("Content-Length: \xb2", 400),
        ("Content-Length: 1\r\nContent-Length: 2", 400),
        (f"Content-Length: {LARGEST_BODY + 1}", 413),
        ("Content-Length: " + "9" * 40, 413),
        ("Transfer-Encoding: chunked", 411),
    ],
)
def test_an_unreadable_body_is_refused(port: int, length: str, status: int) -> None:
    head, body = raw(port, post(length, b"x"))
    assert head.startswith(b"HTTP/1.1 %d" % status)
    assert "message" in json.loads(body)


def test_an_error_response_arrives_while_the_body_is_still_being_sent(port: int) -> None:
    head, _ = raw(port, post(f"Content-Length: {LARGEST_BODY + 1}", b"x" * 500_000))
    assert head.startswith(b"HTTP/1.1 413")


def test_a_truncated_body_returns_400(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as opened:
        opened.sendall(post("Content-Length: 10", b"abc"))
        opened.shutdown(socket.SHUT_WR)
        assert opened.recv(65536).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    "line", [b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n"]
)
def test_input_that_is_not_http_returns_a_json_error(port: int, line: bytes) -> None:
    _, body = raw(port, line)
    assert "message" in json.loads(body)


def test_repeated_response_headers_are_all_sent(connection: http.client.HTTPConnection) -> None:
    connection.request("GET", "/cookies")
    answer = connection.getresponse()
    answer.read()
    assert answer.headers.get_all("Set-Cookie") == ["a=1", "b=2"]


def test_a_port_in_use_raises_oserror() -> None:
    with server.take_port(0) as taken, pytest.raises(OSError, match="in use"):
        server.take_port(taken.getsockname()[1])


def test_all_values_of_a_repeated_request_header_reach_the_application(connection: http.client.HTTPConnection) -> None:
    connection.putrequest("GET", "/headers")
    for value in ("one", "two"):
        connection.putheader("DPoP", value)
    connection.endheaders()

    assert json.loads(connection.getresponse().read())["DPoP"] == ["one", "two"]


def test_whitespace_around_the_value_of_a_request_header_is_removed(connection: http.client.HTTPConnection) -> None:
    connection.request("GET", "/headers", headers={"X-Request-Id": " \t value \t "})

    assert json.loads(connection.getresponse().read())["X-Request-Id"] == ["value"]


@pytest.mark.parametrize("header", [b"no colon", b"X-Name : value", b" folded", b"Content-Length: 0"])
def test_a_body_is_never_parsed_as_a_second_request(port: int, header: bytes) -> None:
    body = b"GET /cookies HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head, rest = raw(port, post(header.decode() + f"\r\nContent-Length: {len(body)}", body))

    assert head.startswith(b"HTTP/1.1 400")
    assert b"\r\nConnection: close" in head
    assert [*json.loads(rest)] == ["message"]


@pytest.mark.parametrize(
    ("host", "status"), [("public.example", 405), ("Public.example:1", 405), ("evil.example", 400)]
)
def test_only_hosts_of_this_machine_and_the_public_url_are_served(port: int, host: str, status: int) -> None:
    head, body = raw(port, f"DELETE /echo HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())

    assert head.startswith(b"HTTP/1.1 %d" % status)
    assert status == 405 or json.loads(body) == {
        "message": "The Host header must name this server: 127.0.0.1, ::1, localhost, public.example. "
        "Behind a tunnel, set PUBLIC_URL."
    }
