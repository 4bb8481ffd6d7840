"""Tests of the roles of payment service providers in certificates (ETSI TS 119 495)."""

import pytest

from chalicelib.foundation.crypto.certificates import InvalidCertificate
from chalicelib.openbanking.protocol.psd2_statement import encode_statement, read_roles
from chalicelib.openbanking.protocol.scopes import ROLES_BY_SERVICE, Role, missing_roles
from tests.kit.certificates import Authority, qc_statements

CA = Authority()
COMPLIANCE = bytes.fromhex("30080606 04008e460101")
"""The statement QcCompliance (ETSI EN 319 412-5, section 4.2.1), which consists of an object identifier only."""
KNOWN = bytes.fromhex(
    "3050"  # qcStatements
    "304e 06060400819827 02 3044"  # id-etsi-psd2-qcStatement
    "3026 3011 0607 04008198270103 0c06 5053505f4149 3011 0607 04008198270102 0c06 5053505f5049"
    "0c13 46696e616e6369616c20417574686f72697479"
    "0c05 58582d4641"
)
"""A PSD2 statement, encoded by hand, with the roles PSP_AI and PSP_PI, ``Financial Authority`` and ``XX-FA``."""


def certificate(der: bytes) -> str:
    return CA.issue(extensions=[qc_statements(der)])


def sequence(*members: bytes) -> bytes:
    content = b"".join(members)
    assert len(content) < 128
    return bytes([0x30, len(content)]) + content


@pytest.mark.parametrize("roles", [{"PSP_AI"}, {"PSP_PI", "PSP_IC"}, {"PSP_AS", "PSP_PI", "PSP_AI", "PSP_IC"}, set()])
@pytest.mark.parametrize("authority", ["FCA", "A" * 256])
def test_roles_read_from_a_certificate_equal_the_encoded_roles(roles: set[Role], authority: str) -> None:
    assert read_roles(certificate(encode_statement(roles, authority, "GB-FCA"))) == roles


def test_psd2_roles_are_read_from_a_statement_encoded_by_hand() -> None:
    assert read_roles(certificate(KNOWN)) == {"PSP_AI", "PSP_PI"}
    assert encode_statement(["PSP_AI", "PSP_PI"], "Financial Authority", "XX-FA") == KNOWN


def test_qc_statements_other_than_psd2_are_ignored() -> None:
    statement = encode_statement(["PSP_AI"], "FCA", "GB-FCA")[2:]

    assert read_roles(certificate(sequence(COMPLIANCE, statement))) == {"PSP_AI"}
    assert read_roles(certificate(sequence(statement, COMPLIANCE))) == {"PSP_AI"}


def test_a_certificate_without_a_psd2_statement_has_no_roles() -> None:
    assert read_roles(CA.issue()) == frozenset()
    assert read_roles(certificate(sequence(COMPLIANCE))) == frozenset()
    assert read_roles(certificate(sequence())) == frozenset()


def test_unknown_psd2_roles_are_ignored() -> None:
    der = encode_statement(["PSP_AI", "PSP_PI"], "FCA", "GB-FCA")
    other = der.replace(bytes.fromhex("04008198270102"), bytes.fromhex("04008198270109"))

    assert read_roles(certificate(other)) == {"PSP_AI"}


@pytest.mark.parametrize(
    "der",
    [
        b"",
        b"\x05\x00",
        sequence(b"\x05\x00"),
        KNOWN[:-1],
        KNOWN + b"\x05\x00",
        KNOWN.replace(b"\x0c\x05XX-FA", b"\x02\x05XX-FA"),
        sequence(sequence(bytes.fromhex("060604008198 2702"))),
        sequence(sequence(bytes.fromhex("060604008198 27020500"))),
        sequence(sequence(b"\x05\x00", b"\x05\x00")),
    ],
)
def test_a_malformed_psd2_statement_makes_the_certificate_invalid(der: bytes) -> None:
    with pytest.raises(InvalidCertificate, match="qcStatements cannot be read"):
        read_roles(certificate(der))


def test_a_text_that_is_not_a_certificate_is_rejected_as_invalid() -> None:
    with pytest.raises(InvalidCertificate, match="not a PEM certificate"):
        read_roles("PSP_AI")


def test_each_service_requires_one_psd2_role_and_the_role_psp_as_permits_no_service() -> None:
    assert dict(ROLES_BY_SERVICE) == {"AISP": "PSP_AI", "PISP": "PSP_PI", "CBPII": "PSP_IC"}
    assert missing_roles({"PSP_AI", "PSP_IC"}, ["AISP", "CBPII"]) == set()
    assert missing_roles({"PSP_AI"}, ["AISP", "PISP"]) == {"PSP_PI"}
    assert missing_roles({"PSP_AS"}, ["AISP", "PISP", "CBPII"]) == {"PSP_AI", "PSP_PI", "PSP_IC"}
    assert missing_roles(set(), []) == set()
