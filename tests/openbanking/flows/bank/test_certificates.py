"""Tests of the client certificates of banks: subject, issuer, validity period and blocklist."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from chalicelib.foundation.crypto.certificates import read_certificate
from chalicelib.foundation.settings import Settings
from infra.local.client_certificate import describe_certificate
from tests.causeway import Answer, Causeway
from tests.kit import certificates
from tests.kit.certificates import Authority
from tests.kit.logs import Lines
from tests.kit.storage import record_calls
from tests.openbanking.kit import URL, VERSIONS

SUBJECT = "CN=api.bank.example,O=Example Bank,C=GB"
REVERSED = ",".join(reversed(SUBJECT.split(",")))


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("CN=Bank CA,O=Example,C=GB")


@pytest.fixture(scope="module")
def tpp_authority() -> Authority:
    return Authority("CN=TPP CA,O=Example,C=GB")


@pytest.fixture
def mutual(
    shared_causeway: Causeway, authority: Authority, tpp_authority: Authority, tmp_path: Path
) -> Iterator[Causeway]:
    (tmp_path / "banks.pem").write_text(authority.pem)
    (tmp_path / "tpps.pem").write_text(tpp_authority.pem)
    bundles = {"BANK_CA_BUNDLE": str(tmp_path / "banks.pem"), "TPP_CA_BUNDLE": str(tmp_path / "tpps.pem")}
    causeway = shared_causeway.again(Settings.from_environment(bundles))
    with causeway.installed():
        name_subjects(causeway, SUBJECT)
        yield causeway
        name_subjects(causeway, None)


def name_subjects(causeway: Causeway, subject: str | None) -> None:
    for side in causeway.banks.values():
        causeway.hub.openbanking.banks.change(side.bic, certificate_subject=subject)


def call(causeway: Causeway, version: int, pem: str | None, **options: Any) -> Answer:
    identity = {"clientCert": describe_certificate(x509.load_pem_x509_certificate(pem.encode()))} if pem else {}
    url = causeway.tpp.authorize(version)["redirect_url"]
    return causeway.banks[version].call("/init_authorization", {URL[version]: url}, identity=identity, **options)


def is_refused(answer: Answer, version: int) -> bool:
    code = 4203 if version == 1 else "SSL_CREDENTIALS_NOT_FOUND"
    return (answer.status, answer.body.get("error_code", answer.body.get("code"))) == (401, code)


@VERSIONS
@pytest.mark.parametrize("recorded", [SUBJECT, REVERSED])
def test_a_bank_certificate_subject_is_accepted_in_either_order_of_its_attributes(
    mutual: Causeway, authority: Authority, version: int, recorded: str
) -> None:
    name_subjects(mutual, recorded)

    assert call(mutual, version, authority.issue(SUBJECT)).status == 200
    assert is_refused(call(mutual, version, None), version)


@VERSIONS
def test_an_untrusted_expired_or_mismatched_bank_certificate_returns_401(
    mutual: Causeway, authority: Authority, tpp_authority: Authority, lines: Lines, version: int
) -> None:
    earlier, later = certificates.NOW - timedelta(days=200), certificates.NOW + timedelta(days=30)
    wrong = {
        "another subject": authority.issue("CN=other.example,O=Example Bank,C=GB"),
        "expired": authority.issue(SUBJECT, starts=earlier, days=90),
        "not valid yet": authority.issue(SUBJECT, starts=later),
        "self-made": Authority().issue(SUBJECT),
        "of an authority of TPPs": tpp_authority.issue(SUBJECT),
    }

    refused = {kind: is_refused(call(mutual, version, pem), version) for kind, pem in wrong.items()}

    assert refused == dict.fromkeys(wrong, True)
    logged = [line for line in lines.all() if line["message"] == "certificate refused"]
    assert {line["bic"] for line in logged} == {mutual.banks[version].bic}
    assert len({line["reason"] for line in logged}) >= 3


@VERSIONS
def test_an_unparsable_bank_certificate_returns_401(mutual: Causeway, version: int) -> None:
    pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

    answer = mutual.banks[version].call(
        "/consent", {}, identity={"clientCert": {"clientCertPem": pem, "subjectDN": SUBJECT}}
    )

    assert is_refused(answer, version)


@VERSIONS
def test_a_blocked_bank_certificate_returns_401_within_a_minute(
    mutual: Causeway, authority: Authority, version: int
) -> None:
    pem, renewed = authority.issue(SUBJECT), authority.issue(SUBJECT)
    assert call(mutual, version, pem).status == 200

    parsed = read_certificate(pem)
    mutual.another_process().openbanking.certificate_blocklist.block(parsed.issuer, parsed.serial_number, "key lost")
    mutual.clock.advance(60)

    assert is_refused(call(mutual, version, pem), version)
    assert call(mutual, version, renewed).status == 200
    mutual.another_process().openbanking.certificate_blocklist.unblock(parsed.issuer, parsed.serial_number)
    mutual.clock.advance(60)
    assert call(mutual, version, pem).status == 200


@VERSIONS
def test_a_bank_certificate_is_checked_after_the_api_key_and_before_the_request_id(
    mutual: Causeway, authority: Authority, version: int
) -> None:
    own = authority.issue(SUBJECT)
    unknown = 4200 if version == 1 else "WRONG_CREDENTIALS"

    no_key = call(mutual, version, None, headers={"x-api-key": "wrong"})
    no_id = call(mutual, version, own, headers={"x-request-id": "1"})

    assert no_key.body.get("error_code", no_key.body.get("code")) == unknown
    assert is_refused(call(mutual, version, None, headers={"x-request-id": "1"}), version)
    assert not is_refused(no_id, version)


@VERSIONS
def test_a_stage_without_bank_certificate_authorities_rejects_banks_with_certificate_subjects(
    causeway: Causeway, authority: Authority, version: int
) -> None:
    bic = causeway.banks[version].bic
    assert call(causeway, version, None).status == 200

    causeway.hub.openbanking.banks.change(bic, certificate_subject=SUBJECT)
    try:
        assert is_refused(call(causeway, version, authority.issue(SUBJECT)), version)
    finally:
        causeway.hub.openbanking.banks.change(bic, certificate_subject=None)


@VERSIONS
def test_the_blocklist_is_read_once_a_minute_for_each_certificate(
    mutual: Causeway, authority: Authority, version: int
) -> None:
    pem, urls = authority.issue(SUBJECT), [mutual.tpp.authorize(version)["redirect_url"] for _ in range(3)]
    identity = {"clientCert": describe_certificate(x509.load_pem_x509_certificate(pem.encode()))}
    call(mutual, version, pem)
    seen = []

    for seconds, url in zip((59, 1, 1), urls, strict=True):
        mutual.clock.advance(seconds=seconds)
        with record_calls(mutual) as calls:
            assert (
                mutual.banks[version].call("/init_authorization", {URL[version]: url}, identity=identity).status == 200
            )
        seen.append(len(calls))

    assert seen == [2, 4, 2], "the bank and the blocklist are read again after a minute"
