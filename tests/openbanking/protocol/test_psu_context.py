"""Tests of PSU headers: valid and invalid values."""

import re

import pytest

from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.psu_context import PSU_HEADERS, UNATTENDED, PsuContext, read_psu

OWED = (
    "PSU-IP-Address",
    "PSU-IP-Port",
    "PSU-Accept",
    "PSU-Accept-Charset",
    "PSU-Accept-Encoding",
    "PSU-Accept-Language",
    "PSU-User-Agent",
    "PSU-Http-Method",
    "PSU-Device-ID",
    "PSU-Geo-Location",
)
TEXTS = [name for name in OWED if "Accept" in name or "Agent" in name]
UUID = "99435c7e-ad88-49ec-a2ad-99ddcb1f5555"
GOOD: dict[str, list[str]] = {
    "PSU-IP-Address": ["192.0.2.7", "2001:db8::1", "::1"],
    "PSU-IP-Port": ["0", "80", "49152", "65535"],
    "PSU-Http-Method": ["GET", "POST", "PUT", "PATCH", "DELETE"],
    "PSU-Device-ID": [UUID, UUID.upper()],
    "PSU-Geo-Location": [
        "GEO:52.506931;13.144558",
        "GEO:-52.506931;-113.144558",
        "geo:52.506931,13.144558",
        "geo:90,180",
        "GEO:90.000000;-180.0",
        "GEO:7.5;07.5",
        "geo:-90,-180",
        "geo:48.2010,16.3695,183",
        "geo:48.198634,16.371648;crs=wgs84;u=40",
    ],
    **{name: ["a", "text/html, */*;q=0.8", "Mozilla/5.0 (X11; Linux) ~!", "x" * 512] for name in TEXTS},
}
NOWHERE = ["", " ", "a\r\nb", "a\nX-Api-Key: 1", "a\x00", "a\x7fb", "caf\u00e9", "\u00a0a", "\ud800"]
BAD: dict[str, list[str]] = {
    "PSU-IP-Address": ["home", "1.2.3", "1.2.3.4, 5.6.7.8", "1.2.3.4:80", "fe80::1%eth0", "256.1.1.1", "1.2.3.4\n"],
    "PSU-IP-Port": ["65536", "-1", "080", "1e3", "80 81", "\u0661", "8\u00b2", "99999"],
    "PSU-Http-Method": ["get", "HEAD", "OPTIONS", "GET POST", "FETCHED"],
    "PSU-Device-ID": ["1", UUID[:-1], UUID.replace("-", ""), f"{{{UUID}}}", UUID[:-1] + "g"],
    "PSU-Geo-Location": [
        "52.506931;13.144558",
        "GEO:52.506931",
        "GEO:90.000001;13.1",
        "GEO:52.5;180.1",
        "GEO:-91;0",
        "geo:1,2;crs=other",
        "GEO:1;2;3",
        "GEO:NaN;1",
        "GEO:1e1;1",
        "GEO: 1;2",
        "geo:0." + "1" * 60 + ",1",
    ],
    **{name: ["x" * 1025] for name in TEXTS},
}


def test_psu_headers_match_the_berlin_group_headers() -> None:
    assert tuple(row.name for row in PSU_HEADERS) == OWED


def test_a_valid_psu_header_value_is_passed_on_unchanged(subtests: pytest.Subtests) -> None:
    for name, values in GOOD.items():
        for value in values:
            with subtests.test(f"{name}: {value[:40]}"):
                assert read_psu({name.lower(): value}) == PsuContext({name: value})
                assert read_psu({name.lower(): f" {value}\t"}) == PsuContext({name: value})


def test_an_invalid_psu_header_error_contains_the_header_name_and_not_the_value(subtests: pytest.Subtests) -> None:
    for row in PSU_HEADERS:
        for value in [*BAD[row.name], *NOWHERE]:
            with subtests.test(f"{row.name}: {value[:40]!r}"):
                with pytest.raises(Refusal) as refused:
                    read_psu({row.name.lower(): value})
                assert refused.value.message == f"the PSU's headers are not valid: {row.name} must be {row.form}"


@pytest.mark.parametrize(
    "given", ["2001:0DB8:0:0:0:0:0:1", "::ffff:203.0.113.7", "::FFFF:cb00:7107", "64:ff9b::1.2.3.4"]
)
def test_an_ip_address_is_passed_on_unchanged(given: str) -> None:
    assert read_psu({"psu-ip-address": given}).headers == {"PSU-IP-Address": given}


def test_psu_headers_accept_values_up_to_their_maximum_length() -> None:
    for row in PSU_HEADERS:
        if row.name in TEXTS:
            assert read_psu({row.name.lower(): "x" * row.longest}).headers == {row.name: "x" * row.longest}
            with pytest.raises(Refusal):
                read_psu({row.name.lower(): "x" * (row.longest + 1)})


def test_an_error_lists_all_invalid_psu_headers_in_table_order() -> None:
    given = {"psu-geo-location": "here", "psu-ip-port": "x", "psu-accept": "*/*", "psu-ip-address": "1.2.3.4"}

    with pytest.raises(Refusal) as refused:
        read_psu(given)

    assert re.findall(r"PSU-[\w-]+ must", str(refused.value)) == ["PSU-IP-Port must", "PSU-Geo-Location must"]


def test_a_repeated_psu_header_is_refused() -> None:
    with pytest.raises(Refusal) as refused:
        read_psu({"psu-ip-address": "192.0.2.7"}, {"psu-ip-address", "accept"})

    assert refused.value.message == "the PSU's headers are not valid: PSU-IP-Address must not be repeated"


def test_only_psu_ip_address_makes_a_request_attended() -> None:
    others = {row.name.lower(): GOOD[row.name][0] for row in PSU_HEADERS if row.name != "PSU-IP-Address"}

    assert not read_psu(others).is_attended
    assert not read_psu({"accept": "*/*", "psu-id": "x"}).headers
    assert read_psu({"psu-ip-address": "192.0.2.7"}).is_attended
    assert not UNATTENDED.is_attended


def test_psu_contexts_stored_by_this_and_earlier_versions_can_be_read() -> None:
    context = read_psu({name.lower(): values[0] for name, values in GOOD.items()})

    assert PsuContext.from_members(context.as_members()) == context
    assert PsuContext.from_members({"psu_address": "192.0.2.7"}) == PsuContext({"PSU-IP-Address": "192.0.2.7"})
    assert PsuContext.from_members({"psu_address": None}) == PsuContext.from_members({}) == UNATTENDED


def test_the_repr_of_a_psu_context_does_not_contain_header_values() -> None:
    assert "192.0.2.7" not in repr(PsuContext({"PSU-IP-Address": "192.0.2.7"}))
