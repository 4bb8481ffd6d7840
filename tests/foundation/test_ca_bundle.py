"""Certificate authority bundles are read from a file or S3 once a minute. After a failed read, the last valid bundle is
used.
"""

from datetime import timedelta
from pathlib import Path

import boto3
import pytest

from chalicelib.foundation.ca_bundle import CaBundle
from chalicelib.foundation.container import Infrastructure
from chalicelib.foundation.crypto.certificates import InvalidCertificate, read_certificate
from chalicelib.foundation.settings import InvalidSetting, Settings
from tests.kit.certificates import NOW, Authority
from tests.kit.logs import Lines
from tests.kit.time import ManualClock

FIRST, SECOND = Authority("CN=First"), Authority("CN=Second")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW + timedelta(days=1))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "cas.pem"
    made.write_text(FIRST.pem)
    return made


def trusts(bundle: CaBundle, authority: Authority) -> bool:
    try:
        bundle.check(read_certificate(authority.issue()))
    except InvalidCertificate:
        return False
    return True


def test_a_changed_ca_bundle_is_used_within_a_minute(clock: ManualClock, file: Path) -> None:
    bundle = CaBundle("TPP_CA_BUNDLE", str(file), clock)
    assert trusts(bundle, FIRST)

    file.write_text(SECOND.pem)
    clock.advance(59)
    assert not trusts(bundle, SECOND)
    clock.advance(1)
    assert trusts(bundle, SECOND)
    assert not trusts(bundle, FIRST)


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_text("damaged")])
def test_an_unreadable_ca_bundle_does_not_replace_the_bundle_in_use(
    clock: ManualClock, file: Path, damage: object, lines: Lines
) -> None:
    assert callable(damage)
    bundle = CaBundle("TPP_CA_BUNDLE", str(file), clock)
    assert trusts(bundle, FIRST)
    damage(file)
    clock.advance(60)

    assert trusts(bundle, FIRST)
    assert [line["message"] for line in lines.all()] == ["authorities not reloaded"]


@pytest.mark.parametrize(("content", "reason"), [(None, "No such file"), ("none", "not a bundle of PEM certificates")])
def test_an_unreadable_ca_bundle_at_start_is_reported_as_an_invalid_setting(
    clock: ManualClock, tmp_path: Path, content: str | None, reason: str
) -> None:
    if content:
        (tmp_path / "cas.pem").write_text(content)

    with pytest.raises(InvalidSetting, match=f"^BANK_CA_BUNDLE: {tmp_path}/cas.pem cannot be used: .*{reason}"):
        trusts(CaBundle("BANK_CA_BUNDLE", str(tmp_path / "cas.pem"), clock), FIRST)


@pytest.mark.usefixtures("resources")
def test_a_ca_bundle_is_read_from_s3(clock: ManualClock) -> None:
    s3 = boto3.client("s3")
    where = {"LocationConstraint": "eu-west-1"}
    s3.create_bucket(Bucket="causeway-dev-truststore-1", CreateBucketConfiguration=where)
    s3.put_object(Bucket="causeway-dev-truststore-1", Key="tpp/cas.pem", Body=FIRST.pem.encode())

    assert trusts(CaBundle("TPP_CA_BUNDLE", "s3://causeway-dev-truststore-1/tpp/cas.pem", clock), FIRST)


def test_the_ca_bundles_for_tpps_and_banks_are_separate_and_empty_without_a_setting(
    clock: ManualClock, file: Path
) -> None:
    (file.parent / "banks.pem").write_text(SECOND.pem)
    bundles = {"TPP_CA_BUNDLE": str(file), "BANK_CA_BUNDLE": str(file.parent / "banks.pem")}
    shared, without = (Infrastructure(Settings.from_environment(each), clock) for each in (bundles, {}))

    assert (trusts(shared.tpp_ca_bundle, FIRST), trusts(shared.tpp_ca_bundle, SECOND)) == (True, False)
    assert (trusts(shared.bank_ca_bundle, FIRST), trusts(shared.bank_ca_bundle, SECOND)) == (False, True)
    for bundle, variable in ((without.tpp_ca_bundle, "TPP_CA_BUNDLE"), (without.bank_ca_bundle, "BANK_CA_BUNDLE")):
        with pytest.raises(InvalidCertificate, match=f"trusts no authority: {variable} is not set"):
            bundle.check(read_certificate(FIRST.issue()))
