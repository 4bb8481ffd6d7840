"""TLS of the local stack: accepted clients, certificates passed to handlers, and slow handshakes."""

import contextlib
import http.client
import json
import logging
import socket
import ssl
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from chalice.app import Chalice
from chalice.config import Config
from cryptography import x509

from chalicelib.foundation.crypto.certificates import TrustedAuthorities, read_certificate
from chalicelib.foundation.settings import Settings
from infra.local import server, tls
from infra.local.development_ca import ClientSubject, DevelopmentCa
from infra.local.tls import LocalTls, TlsFailed
from tests.kit.certificates import Authority, seconds
from tests.kit.http import serving
from tests.kit.time import PATIENCE_SECONDS

SUBJECT = ClientSubject("api.bank.example")
BUNDLES = ("TPP_CA_BUNDLE", "BANK_CA_BUNDLE")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def local_tls(folder: Path) -> LocalTls:
    return tls.set_up({}, folder, 8000)


@pytest.fixture(scope="module")
def port(local_tls: LocalTls) -> Iterator[int]:
    app = Chalice("small", configure_logs=False, env={})

    @app.route("/identity")
    def identity() -> Any:
        assert app.current_request is not None
        return app.current_request.context["identity"]

    config = Config(chalice_stage="local", user_provided_params={"chalice_app": app, "lambda_memory_size": 128})
    with serving(server.build_server(app, config, server.take_port(0), tls=local_tls.context)) as running:
        yield running.server_port


def trusting(local_tls: LocalTls) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(local_tls.ca_file))


def with_certificate(local_tls: LocalTls, folder: Path, pem: str, key: str) -> ssl.SSLContext:
    (folder / "client.pem").write_text(pem + key)
    context = trusting(local_tls)
    context.load_cert_chain(folder / "client.pem")
    return context


def identity(port: int, context: ssl.SSLContext, host: str = "127.0.0.1") -> dict[str, Any]:
    with contextlib.closing(
        http.client.HTTPSConnection(host, port, context=context, timeout=PATIENCE_SECONDS)
    ) as connection:
        connection.request("GET", "/identity")
        found: dict[str, Any] = json.loads(connection.getresponse().read())
        return found


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_client_that_trusts_the_development_ca_needs_no_certificate(
    port: int, local_tls: LocalTls, host: str
) -> None:
    assert identity(port, trusting(local_tls), host) == {"sourceIp": "127.0.0.1"}


def test_a_client_that_does_not_trust_the_development_ca_cannot_connect(port: int) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        identity(port, ssl.create_default_context())


def test_handlers_receive_a_client_certificate_only_on_the_same_connection(
    port: int, local_tls: LocalTls, folder: Path
) -> None:
    pem, key = DevelopmentCa(folder).issue_client(SUBJECT, days=1)

    found = identity(port, with_certificate(local_tls, folder, pem, key))["clientCert"]

    assert (found["clientCertPem"], found["subjectDN"]) == (pem, "O=api.bank.example,CN=api.bank.example")
    assert found["serialNumber"].replace(":", "").lstrip("0") == read_certificate(pem).serial_number
    assert "clientCert" not in identity(port, trusting(local_tls))


def test_a_client_certificate_of_an_untrusted_ca_fails_in_the_handshake(
    port: int, local_tls: LocalTls, tmp_path: Path
) -> None:
    pem, key = DevelopmentCa(tmp_path / "other").issue_client(SUBJECT, days=1)

    with pytest.raises((ssl.SSLError, ConnectionError)):
        identity(port, with_certificate(local_tls, tmp_path, pem, key))


def test_a_plain_http_request_closes_the_connection_without_a_log_line(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.DEBUG),
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as plain,
    ):
        plain.sendall(b"GET /identity HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b"".join(iter(lambda: plain.recv(1024), b""))

    assert b"HTTP" not in received
    assert caplog.records == []


def test_an_unfinished_handshake_does_not_block_other_connections(port: int, local_tls: LocalTls) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS):
        assert identity(port, trusting(local_tls))["sourceIp"] == "127.0.0.1"


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
def test_tls_1_1_is_refused(port: int, local_tls: LocalTls) -> None:
    context = trusting(local_tls)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1

    assert local_tls.context.minimum_version == ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        identity(port, context)


def test_a_stack_with_tls_uses_https_addresses_and_trusts_the_development_ca(tmp_path: Path) -> None:
    other = Authority("CN=Other CA")
    (tmp_path / "cas.pem").write_text(other.pem)
    bundles = dict.fromkeys(BUNDLES, str(tmp_path / "cas.pem"))
    environ = {"STAGE": "local", "PORT": "8000", **bundles}

    made = tls.set_up(environ, tmp_path / "tls", 8000)

    settings = Settings.from_environment(environ)
    own, _ = DevelopmentCa(tmp_path / "tls").issue_client(SUBJECT, days=90)
    assert settings.public_url == settings.mtls_url == settings.bank_api_url == "https://127.0.0.1:8000"
    assert made.ca_file.read_text() in Path(settings.outbound_ca_file or "").read_text()
    for bundle in (settings.tpp_ca_bundle, settings.bank_ca_bundle):
        trusted = TrustedAuthorities(Path(bundle or "").read_text())
        for pem in (own, other.issue(starts=read_start(own))):
            trusted.check(read_certificate(pem), seconds(read_start(own)) + 3600)


def read_start(pem: str) -> datetime:
    return x509.load_pem_x509_certificate(pem.encode()).not_valid_before_utc


@pytest.mark.parametrize(("content", "reason"), [(None, "No such file"), ("none", "not a bundle of PEM certificates")])
@pytest.mark.parametrize("variable", BUNDLES)
def test_an_unusable_ca_bundle_raises_tls_failed_with_the_path_and_the_reason(
    tmp_path: Path, variable: str, content: str | None, reason: str
) -> None:
    if content:
        (tmp_path / "cas.pem").write_text(content)

    with pytest.raises(TlsFailed, match=f"^{variable}: {tmp_path}/cas.pem cannot be used: .*{reason}"):
        tls.set_up({variable: str(tmp_path / "cas.pem")}, tmp_path / "tls", 8000)
