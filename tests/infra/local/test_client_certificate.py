"""The format of a client certificate is the format in which API Gateway passes certificates to the function."""

from datetime import UTC, datetime

import pytest
from cryptography import x509

from infra.local.client_certificate import describe_certificate
from tests.kit.certificates import Authority

CA = Authority("CN=Test CA,O=Example,C=GB")


def described(serial: int) -> tuple[str, dict[str, object]]:
    pem = CA.issue(
        "CN=api.bank.example,O=Example Bank,C=GB",
        serial=serial,
        starts=datetime(2026, 8, 5, 0, 28, 21, tzinfo=UTC),
        days=30,
    )
    return pem, describe_certificate(x509.load_pem_x509_certificate(pem.encode()))


def test_the_names_of_a_client_certificate_are_in_order_and_its_times_have_the_openssl_format() -> None:
    pem, found = described(serial=0x0A1B2C)

    assert found == {
        "clientCertPem": pem,
        "subjectDN": "C=GB,O=Example Bank,CN=api.bank.example",
        "issuerDN": "C=GB,O=Example,CN=Test CA",
        "serialNumber": "0a:1b:2c",
        "validity": {"notBefore": "Aug  5 00:28:21 2026 GMT", "notAfter": "Sep  4 00:28:21 2026 GMT"},
    }


@pytest.mark.parametrize(("serial", "text"), [(1, "01"), (0xFF, "ff"), (0x100, "01:00"), (0xABCDEF, "ab:cd:ef")])
def test_serial_numbers_are_formatted_byte_by_byte(serial: int, text: str) -> None:
    assert described(serial)[1]["serialNumber"] == text
