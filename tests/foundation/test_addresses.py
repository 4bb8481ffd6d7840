"""Addresses: what the service may send anybody to, or connect to itself."""

from __future__ import annotations

import pytest

from chalicelib.foundation.addresses import InvalidAddress, check_address, is_private_host, is_public


@pytest.mark.parametrize(
    "url",
    [
        "https://bank.example.com",
        "https://bank.example.com:8443/psd2?a=b&c=%20d",
        "https://8.8.8.8/callback",
        "https://[2606:4700::1111]/callback",
    ],
)
@pytest.mark.parametrize("local", [True, False])
def test_public_https_addresses_are_good_everywhere(url: str, local: bool) -> None:
    assert check_address(url, local=local) == url


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/bank", "http://localhost/bank", "http://bank.example.com"])
def test_plain_and_private_addresses_are_good_in_the_local_stage_only(url: str) -> None:
    assert check_address(url, local=True) == url
    with pytest.raises(InvalidAddress, match="must be https outside the local stage"):
        check_address(url, local=False)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104 - nothing is bound
        "224.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fd00::1]",
        "[ff02::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:10.0.0.1]",
        "[2002:7f00:1::]",
        "[64:ff9b::7f00:1]",
        "localhost",
        "bank.localhost",
        "printer.local",
        "db.internal",
        "intranet",
        "2130706433",
    ],
)
def test_private_hosts_are_refused_outside_the_local_stage(host: str) -> None:
    with pytest.raises(InvalidAddress, match="must not be a private address outside the local stage"):
        check_address(f"https://{host}/bank", local=False)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "printable ASCII"),
        ("https://bank.example.com/a b", "without spaces"),
        ("https://bank.example.com/\n", "printable ASCII"),
        ("https://bänk.example.com", "printable ASCII"),
        ("https://bank.example.com/" + "a" * 2048, "at most 2048"),
        ("https://[::1", "is not an address"),
        ("https://bank.example.com:99999", "is not an address"),
        ("bank.example.com", "must begin with https://"),
        ("javascript:alert(1)", "must begin with https://"),
        ("file:///etc/passwd", "must begin with https://"),
        ("https:///path", "name a host"),
        ("https://user:word@bank.example.com", "neither user information"),
        ("https://@bank.example.com", "neither user information"),
        ("https://bank.example.com/#part", "nor a fragment"),
    ],
)
@pytest.mark.parametrize("local", [True, False])
def test_what_is_no_plain_address_is_refused_with_the_reason(url: str, reason: str, local: bool) -> None:
    with pytest.raises(InvalidAddress, match=reason):
        check_address(url, local=local)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("64:ff9b::808:808", True),
        ("64:ff9b::a00:1", False),
        ("::ffff:8.8.8.8", True),
        ("::ffff:192.168.0.1", False),
        ("fe80::1%eth0", False),
        ("198.51.100.7", False),
        ("239.1.2.3", False),
    ],
)
def test_an_address_inside_another_is_judged_by_itself(address: str, public: bool) -> None:
    assert is_public(address) is public
    assert is_private_host(address) is not public


def test_a_name_with_a_dot_is_taken_for_public_until_it_is_resolved() -> None:
    assert not is_private_host("bank.example.com")
