"""Tests of the certificate blocklist. An entry blocks a certificate regardless of how issuer and serial number are
written.
"""

import pytest

from chalicelib.openbanking.records.certificate_blocklist import (
    CertificateBlocklist,
    InvalidSerialNumber,
    blocklist_key,
)
from tests.causeway import Causeway

ISSUER = "CN=Test CA,O=Example,C=GB"


@pytest.fixture
def blocklist(causeway: Causeway) -> CertificateBlocklist:
    return causeway.hub.openbanking.certificate_blocklist


def is_blocked(causeway: Causeway, issuer: str, serial_number: str) -> bool:
    return causeway.hub.store.get(*blocklist_key(issuer, serial_number)) is not None


def test_a_certificate_is_blocked_until_it_is_unblocked(causeway: Causeway, blocklist: CertificateBlocklist) -> None:
    blocked = blocklist.block(ISSUER, "0A:1B", "key lost")

    assert (blocked.issuer, blocked.serial_number, blocked.reason) == (ISSUER, "a1b", "key lost")
    assert is_blocked(causeway, ISSUER, "a1b")
    assert not is_blocked(causeway, ISSUER, "a1c")
    assert not is_blocked(causeway, "CN=Other", "a1b")
    assert blocklist.unblock(ISSUER, "a1b")
    assert not is_blocked(causeway, ISSUER, "a1b")
    assert not blocklist.unblock(ISSUER, "a1b")


@pytest.mark.parametrize(
    ("issuer", "serial_number"),
    [
        (ISSUER, "0x0a1b"),
        (ISSUER, "00 0a 1b"),
        ("cn=Test\\20CA,o=Example,c=GB", "A1B"),
        ("C=GB,O=Example,CN=Test CA", "a1b"),
        ("CN=TEST CA,O=example,C=gb", "a1b"),
    ],
)
def test_the_blocklist_matches_issuer_and_serial_number_in_every_format(issuer: str, serial_number: str) -> None:
    assert blocklist_key(issuer, serial_number) == blocklist_key(ISSUER, "a1b")


def test_blocking_a_certificate_again_replaces_the_reason(causeway: Causeway, blocklist: CertificateBlocklist) -> None:
    blocklist.block("CN=Twice", "1", "first")
    causeway.clock.advance(60)
    again = blocklist.block("CN=Twice", "01", "second")

    assert [each for each in blocklist.all() if each.issuer == "CN=Twice"] == [again]
    assert again.reason == "second"


def test_the_blocklist_returns_the_latest_entries_first_without_client_records(
    causeway: Causeway, blocklist: CertificateBlocklist
) -> None:
    first = blocklist.block("CN=Listed", "1", "")
    causeway.clock.advance(60)
    second = blocklist.block("CN=Listed", "2", "")

    assert [each for each in blocklist.all() if each.issuer == "CN=Listed"] == [second, first]
    assert causeway.tpp.client_id in {each.client_id for each in causeway.hub.openbanking.clients.all()}


def test_an_unparsable_issuer_is_blocked_by_its_exact_text(causeway: Causeway, blocklist: CertificateBlocklist) -> None:
    blocklist.block("C=Britain,CN=", "1", "")

    assert is_blocked(causeway, "C=Britain,CN=", "1")
    assert not is_blocked(causeway, "C=Britain,cn=", "1")


@pytest.mark.parametrize("text", ["", "serial", "-1", "1_0", "٣", "0x"])
def test_a_serial_number_must_be_hexadecimal(blocklist: CertificateBlocklist, text: str) -> None:
    with pytest.raises(InvalidSerialNumber, match="is not a hexadecimal serial number"):
        blocklist.block(ISSUER, text, "")
    assert blocklist_key(ISSUER, text) == blocklist_key(ISSUER, text)
