"""The local server compresses responses under the same conditions as API Gateway."""

import gzip
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from chalice.app import Chalice, Response
from chalice.config import Config

from infra.local import server
from infra.local.compression import accepts_gzip, compress
from infra.repository import ROOT
from tests.kit.http import serving
from tests.kit.time import PATIENCE_SECONDS

SMALLEST = 1024
LARGE, SMALL = "a" * SMALLEST, "a" * (SMALLEST - 1)
LOGO = bytes(range(256)) * 8


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    app = Chalice("small", configure_logs=False, env={})
    app.api.binary_types = []
    tagged = {"Content-Type": "text/plain", "ETag": '"strong"', "Vary": "Origin"}
    texts = {"large": LARGE, "small": SMALL}

    @app.route("/{name}", methods=["GET", "HEAD"])
    def text(name: str) -> Response:
        return Response(texts[name], headers=dict(tagged))

    @app.route("/encoded")
    def encoded() -> Response:
        return Response(LARGE, headers={"Content-Type": "text/plain", "Content-Encoding": "identity"})

    @app.route("/unchanged")
    def unchanged() -> Response:
        return Response("", status_code=304, headers={"ETag": 'W/"weak"', "Vary": "Accept-Encoding"})

    config = Config(
        chalice_stage="local", user_provided_params={"chalice_app": app, "minimum_compression_size": SMALLEST}
    )
    with serving(server.build_server(app, config, server.take_port(0))) as running:
        yield running.server_port


def fetch(port: int, path: str, accepted: str | None = "gzip", method: str = "GET") -> tuple[Any, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    connection.putrequest(method, path, skip_accept_encoding=True)
    if accepted is not None:
        connection.putheader("Accept-Encoding", accepted)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.headers, body


def test_a_large_body_is_compressed_for_clients_that_accept_gzip(port: int) -> None:
    headers, body = fetch(port, "/large")

    assert (headers["Content-Encoding"], headers["Content-Length"]) == ("gzip", str(len(body)))
    assert gzip.decompress(body).decode() == LARGE
    assert len(body) < 100


def test_responses_have_vary_accept_encoding_and_a_weak_etag_if_compressed(port: int) -> None:
    for accepted, tag in (("gzip", 'W/"strong"'), (None, '"strong"')):
        headers, _ = fetch(port, "/large", accepted)
        assert (headers["Vary"], headers["ETag"]) == ("Origin, Accept-Encoding", tag)


@pytest.mark.parametrize(("path", "accepted"), [("/small", "gzip"), ("/large", None), ("/large", "br, gzip;q=0")])
def test_a_small_body_or_a_body_for_clients_without_gzip_is_sent_uncompressed(
    port: int, path: str, accepted: str | None
) -> None:
    headers, body = fetch(port, path, accepted)

    assert headers["Content-Encoding"] is None
    assert body.decode() == {"/small": SMALL, "/large": LARGE}[path]


def test_an_encoded_body_is_not_compressed_again(port: int) -> None:
    headers, body = fetch(port, "/encoded")

    assert (headers["Content-Encoding"], body.decode()) == ("identity", LARGE)


def test_a_head_request_returns_the_headers_of_a_get_request_without_a_body(port: int) -> None:
    got, _ = fetch(port, "/large")
    headers, body = fetch(port, "/large", method="HEAD")

    assert body == b""
    assert [headers[name] for name in ("Content-Encoding", "Content-Length")] == [
        got[name] for name in ("Content-Encoding", "Content-Length")
    ]


def test_a_response_without_a_body_is_unchanged(port: int) -> None:
    headers, body = fetch(port, "/unchanged")

    assert (body, headers["Content-Encoding"], headers["ETag"]) == (b"", None, 'W/"weak"')


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("gzip", True),
        ("GZIP ; q=0.5", True),
        ("deflate, br, gzip", True),
        ("*", True),
        ("br, *;q=0", False),
        ("gzip;q=0.000", False),
        ("gzip;q=0, *", False),
        ("identity", False),
        ("gzipped", False),
        ("", False),
    ],
)
def test_accept_encoding_is_parsed_according_to_rfc_9110(accepted: str, expected: bool) -> None:
    assert accepts_gzip(accepted) is expected


def test_compression_does_not_change_binary_bodies(port: int) -> None:
    headers: dict[str, Any] = {"Content-Type": "image/png"}

    assert gzip.decompress(compress(LOGO, headers, ["gzip"], SMALLEST)) == LOGO
    assert compress(LOGO, {}, ["gzip"], None) == LOGO


def test_the_local_stack_and_deployed_stages_have_the_same_minimum_compression_size() -> None:
    on_disk = json.loads((ROOT / ".chalice" / "config.json").read_text("utf-8"))

    assert Config(config_from_disk=on_disk, chalice_stage="local").minimum_compression_size == SMALLEST
