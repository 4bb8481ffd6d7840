"""Tests of certificates: identifiers, the comparison of subject names, and the verification of trust."""

import base64
import hashlib
import ssl
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from chalicelib.foundation.crypto.certificates import (
    InvalidCertificate,
    TrustedAuthorities,
    read_certificate,
    same_subject,
)
from tests.kit.certificates import NOW, Authority, qc_statements, seconds

CA = Authority()
TRUSTED = TrustedAuthorities(CA.pem)
TODAY = seconds(NOW + timedelta(days=1))
SUBJECT = "CN=TPP,2.5.4.97=PSDGB-FCA-123456,O=Example,C=GB"
UNKNOWN = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4.5"), b"\x05\x00")


def check(pem: str, now: int = TODAY, trusted: TrustedAuthorities = TRUSTED) -> None:
    trusted.check(read_certificate(pem), now)


def usage(*oids: x509.ObjectIdentifier) -> tuple[x509.ExtensionType, bool]:
    return x509.ExtendedKeyUsage(oids), True


def test_a_parsed_certificate_contains_the_names_the_serial_number_and_the_thumbprint() -> None:
    pem = CA.issue(SUBJECT, serial=0x0ABC)

    read = read_certificate(pem)

    assert (read.subject, read.issuer, read.serial_number) == (SUBJECT, CA.subject, "abc")
    assert read.organization_identifier == "PSDGB-FCA-123456"
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).digest()
    assert base64.urlsafe_b64decode(f"{read.thumbprint}=") == digest
    assert len(read.thumbprint) == 43


def test_the_organization_identifier_of_a_certificate_without_an_identifier_is_none() -> None:
    assert read_certificate(CA.issue("CN=TPP")).organization_identifier is None


def test_the_organization_identifier_of_a_certificate_with_two_identifiers_is_none() -> None:
    assert read_certificate(CA.issue("2.5.4.97=PSDGB-FCA-1,2.5.4.97=PSDGB-FCA-2")).organization_identifier is None


def test_surrounding_spaces_and_line_endings_of_a_certificate_are_ignored() -> None:
    pem = CA.issue()

    assert read_certificate(pem.rstrip()) == read_certificate(pem.replace("\n", "\r\n")) == read_certificate(pem)


@pytest.mark.parametrize("text", ["", "no certificate", "ä", "-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_text_that_is_not_a_certificate_raises_an_error(text: str) -> None:
    with pytest.raises(InvalidCertificate, match="this is not a PEM certificate"):
        read_certificate(text)
    with pytest.raises(InvalidCertificate, match="this is not a bundle of PEM certificates"):
        TrustedAuthorities(text)


@pytest.mark.parametrize(
    "other",
    [
        SUBJECT,
        "cn=TPP,2.5.4.97=PSDGB-FCA-123456,o=Example,c=GB",
        "CN=TPP,organizationIdentifier=PSDGB-FCA-123456,O=Example,C=GB",
        "CN=T\\50P,2.5.4.97=PSDGB-FCA-123456,O=Example,C=GB",
        "CN=TPP,2.5.4.97=#0c1050534447422d4643412d313233343536,O=Example,C=GB",
        "C=GB,O=Example,2.5.4.97=PSDGB-FCA-123456,CN=TPP",
    ],
)
def test_subject_names_with_equivalent_notations_match(other: str) -> None:
    assert same_subject(SUBJECT, other)
    assert same_subject(other, SUBJECT)


@pytest.mark.parametrize(
    "other",
    [
        "O=Example,C=GB,2.5.4.97=PSDGB-FCA-123456,CN=TPP",
        "CN=tpp,2.5.4.97=PSDGB-FCA-123456,O=Example,C=GB",
        "CN=TPP,2.5.4.97=PSDGB-FCA-123456,O=Example",
        "CN=TPP\\,2.5.4.97=PSDGB-FCA-123456,O=Example,C=GB",
        "CN=TPP+2.5.4.97=PSDGB-FCA-123456,O=Example,C=GB",
    ],
)
def test_subject_names_with_different_attributes_or_order_do_not_match(other: str) -> None:
    assert not same_subject(SUBJECT, other)


def test_subject_name_attributes_joined_by_a_plus_match_in_any_order() -> None:
    assert same_subject("CN=TPP+O=Example", "O=Example+CN=TPP")


@pytest.mark.parametrize("text", ["", "TPP", "CN=", "CN=TPP,", "unknown=TPP", "C=Britain", "CN=TPP, O=Example"])
def test_an_empty_or_invalid_subject_name_matches_no_subject(text: str) -> None:
    assert not same_subject(text, text)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"extensions": [usage(ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH)]},
        {"extensions": [usage(ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)]},
        {"extensions": [qc_statements(b"\x30\x00"), (x509.SubjectAlternativeName([x509.DNSName("a.example")]), True)]},
        {"extensions": [qc_statements(b"\x30\x00", critical=True)]},
        {"extensions": [(UNKNOWN, False)]},
        {"extensions": [(x509.BasicConstraints(ca=False, path_length=None), True)]},
    ],
)
def test_a_client_certificate_of_a_trusted_authority_is_trusted(options: dict[str, Any]) -> None:
    check(CA.issue(**options))


def test_an_intermediate_authority_in_the_ca_bundle_is_a_trust_anchor() -> None:
    intermediate = Authority("CN=Intermediate", above=CA)

    check(intermediate.issue(), trusted=TrustedAuthorities(intermediate.pem))
    check(intermediate.issue(), trusted=TrustedAuthorities(f"{CA.pem}{intermediate.pem}"))
    with pytest.raises(InvalidCertificate, match="no authority of the bundle has the name of its issuer"):
        check(intermediate.issue())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"starts": NOW + timedelta(days=2)}, "not valid at validation time"),
        ({"starts": NOW - timedelta(days=91)}, "not valid at validation time"),
        ({"extensions": [(x509.BasicConstraints(ca=True, path_length=None), True)]}, "the certificate of an authority"),
        ({"extensions": [usage(ExtendedKeyUsageOID.SERVER_AUTH)]}, "its extendedKeyUsage does not allow clientAuth"),
        ({"extensions": [(UNKNOWN, True)]}, "unaccounted-for critical extensions"),
    ],
)
def test_an_untrusted_client_certificate_is_rejected_with_the_reason(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidCertificate, match=f"^the certificate is not trusted: .*{reason}"):
        check(CA.issue(**options))


def test_a_certificate_is_valid_from_the_first_to_the_last_second_of_the_period() -> None:
    pem, end = CA.issue(days=1), seconds(NOW + timedelta(days=1))

    check(pem, seconds(NOW))
    check(pem, end)
    for outside in (seconds(NOW) - 1, end + 1):
        with pytest.raises(InvalidCertificate, match="not valid at validation time"):
            check(pem, outside)


def test_certificates_of_unknown_authorities_are_rejected_even_with_a_trusted_name() -> None:
    with pytest.raises(InvalidCertificate, match="no authority of the bundle has the name of its issuer"):
        check(Authority("CN=Stranger").issue())
    with pytest.raises(InvalidCertificate, match="signature does not match"):
        check(Authority(CA.subject).issue())


def test_authority_and_self_signed_client_certificates_are_rejected() -> None:
    with pytest.raises(InvalidCertificate, match="the certificate of an authority"):
        check(CA.pem)
    with pytest.raises(InvalidCertificate, match="the certificate of an authority"):
        check(Authority("CN=Self").pem)


def test_client_certificates_of_an_expired_authority_are_rejected() -> None:
    with pytest.raises(InvalidCertificate, match="not valid at validation time"):
        check(CA.issue(days=9000), seconds(NOW + timedelta(days=4000)))
