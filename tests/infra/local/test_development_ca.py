"""The development CA is created once, is readable only by the owner of the file, and issues certificates for the
service.
"""

import stat
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from chalicelib.foundation.crypto.certificates import TrustedAuthorities, read_certificate
from chalicelib.openbanking.protocol.psd2_statement import read_roles
from infra.local.development_ca import ClientSubject, DevelopmentCa
from tests.kit.certificates import NOW, seconds

TPP = ClientSubject("Budget Friend", "PSDGB-FCA-123456", ("PSP_AI", "PSP_PI"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "tls"


def parsed(file: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(file.read_bytes())


def test_the_development_ca_is_created_once_with_mode_0600(place: Path) -> None:
    first = DevelopmentCa(place, NOW).file.read_bytes()
    again = DevelopmentCa(place, NOW).file.read_bytes()

    assert first == again
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in place.iterdir()} == {0o600}
    assert {file.name for file in place.iterdir()} == {"ca.pem", "ca-key.pem"}


def test_a_client_certificate_is_trusted_and_contains_the_identifier_and_the_roles(place: Path) -> None:
    ca = DevelopmentCa(place, NOW)

    pem, _ = ca.issue_client(TPP, days=30)

    found = read_certificate(pem)
    TrustedAuthorities(ca.file.read_text()).check(found, seconds(NOW + timedelta(days=30)))
    assert found.subject == "CN=Budget Friend,2.5.4.97=PSDGB-FCA-123456,O=Budget Friend,C=GB"
    assert found.organization_identifier == "PSDGB-FCA-123456"
    assert read_roles(pem) == {"PSP_AI", "PSP_PI"}


def test_a_client_certificate_without_an_identifier_has_no_roles(place: Path) -> None:
    pem, _ = DevelopmentCa(place, NOW).issue_client(ClientSubject("api.bank.example"), days=30)

    assert read_certificate(pem).subject == "CN=api.bank.example,O=api.bank.example"
    assert read_roles(pem) == frozenset()


def test_the_server_certificate_is_for_localhost_and_reused(place: Path) -> None:
    file, key = DevelopmentCa(place, NOW).server_files()
    before = file.read_bytes(), key.read_bytes()
    names = parsed(file).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    usage = parsed(file).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value

    assert [str(each.value) for each in names] == ["127.0.0.1", "localhost"]
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert DevelopmentCa(place, NOW + timedelta(days=300)).server_files() == (file, key)
    assert (file.read_bytes(), key.read_bytes()) == before


def test_the_server_certificate_is_renewed_before_expiry_and_for_another_ca(place: Path) -> None:
    file, _ = DevelopmentCa(place, NOW).server_files()
    first = file.read_bytes()
    later = NOW + timedelta(days=340)

    DevelopmentCa(place, later).server_files()
    second = file.read_bytes()
    (place / "ca-key.pem").unlink()
    DevelopmentCa(place, later).server_files()

    assert len({first, second, file.read_bytes()}) == 3
    assert parsed(file).issuer == parsed(place / "ca.pem").subject
