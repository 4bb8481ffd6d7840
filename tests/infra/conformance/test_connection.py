"""Conformance checks of bank addresses and TLS versions."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance.checks import connection
from infra.conformance.evidence import CheckFailed, CheckSkipped, Evidence
from infra.local.development_ca import DevelopmentCa
from tests.infra.conformance.kit_runs import session_with
from tests.infra.conformance.small_bank import SmallBank

CHECKS = {check.check_id: check for check in connection.checks(VERSIONS[2])}


@contextmanager
def tls_server(authority: DevelopmentCa, oldest: ssl.TLSVersion) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.server_files())
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.minimum_version = oldest
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    plain, _ = server.accept()
                    with plain, suppress(OSError), context.wrap_socket(plain, server_side=True) as wrapped:
                        wrapped.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        yield f"https://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def authority(tmp_path: Path) -> DevelopmentCa:
    return DevelopmentCa(tmp_path)


def check(name: str, url: str, ca_file: str | None = None) -> Evidence:
    session = session_with(SmallBank(VERSIONS[2]))
    session.bank = replace(session.bank, base_url=url, ca_file=ca_file)
    return CHECKS[name].run(session)


def test_a_bank_with_a_trusted_certificate_passes_the_certificate_check(authority: DevelopmentCa) -> None:
    with tls_server(authority, ssl.TLSVersion.TLSv1_2) as url:
        assert check("tls.webhooks-certificate", url, str(authority.file)).received.startswith("TLSv1.")


def test_a_bank_with_an_untrusted_certificate_fails_the_certificate_check(authority: DevelopmentCa) -> None:
    with tls_server(authority, ssl.TLSVersion.TLSv1_2) as url, pytest.raises(CheckFailed) as caught:
        check("tls.webhooks-certificate", url)

    assert "the handshake failed: " in caught.value.problem
    assert "unable to get local issuer certificate" in caught.value.problem


def test_a_bank_that_rejects_old_tls_versions_passes_the_tls_check(authority: DevelopmentCa) -> None:
    with tls_server(authority, ssl.TLSVersion.TLSv1_2) as url:
        assert "TLS 1.1 handshake" in check("tls.webhooks-old-versions", url).sent


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_a_bank_that_accepts_old_tls_versions_fails_the_tls_check(authority: DevelopmentCa) -> None:
    with tls_server(authority, ssl.TLSVersion.TLSv1) as url, pytest.raises(CheckFailed, match="succeeded"):
        check("tls.webhooks-old-versions", url)


@pytest.mark.parametrize("name", ["tls.webhooks-certificate", "tls.webhooks-old-versions"])
def test_tls_checks_are_skipped_for_plain_http(name: str) -> None:
    with pytest.raises(CheckSkipped, match="not https"):
        check(name, "http://127.0.0.1:1")


@pytest.mark.parametrize("url", ["http://bank.example.com", "https://10.0.0.1", "https://bank.internal"])
def test_a_bank_address_that_is_not_public_https_fails_the_address_check(url: str) -> None:
    with pytest.raises(CheckFailed, match="the address must"):
        check("address.webhooks", url)


def test_a_bank_with_a_public_https_address_passes_the_address_check() -> None:
    assert check("address.webhooks", "https://bank.example.com").sent == "https://bank.example.com"


def test_a_bank_with_a_loopback_address_skips_the_address_check() -> None:
    with pytest.raises(CheckSkipped, match="this machine"):
        check("address.webhooks", "http://127.0.0.1:1")
