"""The addresses to which the service may redirect or connect depend on the stage."""

import pytest

from chalicelib.foundation.http.addresses import InvalidAddress, check_address, is_public
from tests.kit import inputs


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
def test_public_https_addresses_are_accepted_in_every_stage(url: str, local: bool) -> None:
    assert check_address(url, local=local) == url


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/bank", "http://localhost/bank", "http://bank.example.com"])
def test_http_and_private_addresses_are_accepted_in_the_local_stage_only(url: str) -> None:
    assert check_address(url, local=True) == url
    with pytest.raises(InvalidAddress, match="must use https outside the local stage"):
        check_address(url, local=False)


@pytest.mark.parametrize("host", inputs.PRIVATE_HOSTS)
def test_private_hosts_are_rejected_outside_the_local_stage(host: str) -> None:
    with pytest.raises(InvalidAddress, match="must not point to a private address outside the local stage"):
        check_address(f"https://{host}/bank", local=False)


@pytest.mark.parametrize("host", [*inputs.LOOPBACK_SPELLINGS, *inputs.INVALID_HOSTS])
def test_a_host_with_a_non_standard_ip_address_format_is_rejected_outside_the_local_stage(host: str) -> None:
    with pytest.raises(
        InvalidAddress, match=r"must have a host that is a name, a dotted-decimal IPv4|is not a valid URL"
    ):
        check_address(f"https://{host}/bank", local=False)


@pytest.mark.parametrize("host", ["１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "ｌocalhost"])  # noqa: RUF001 - on purpose
def test_host_names_with_non_ascii_characters_are_rejected_in_every_stage(host: str) -> None:
    for local in (True, False):
        with pytest.raises(InvalidAddress, match="printable ASCII"):
            check_address(f"https://{host}/bank", local=local)


@pytest.mark.parametrize("host", inputs.ACCEPTED_HOSTS)
def test_public_hosts_are_accepted_outside_the_local_stage(host: str) -> None:
    assert check_address(f"https://{host}/bank", local=False) == f"https://{host}/bank"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "printable ASCII"),
        ("https://bank.example.com/a b", "without spaces"),
        ("https://bank.example.com/\n", "printable ASCII"),
        ("https://bänk.example.com", "printable ASCII"),
        ("https://bank.example.com/" + "a" * 2048, "at most 2048"),
        ("https://[::1", "is not a valid URL"),
        ("https://bank.example.com:99999", "is not a valid URL"),
        ("bank.example.com", "must begin with https://"),
        ("javascript:alert(1)", "must begin with https://"),
        ("file:///etc/passwd", "must begin with https://"),
        ("https:///path", "have a host"),
        ("https://user:word@bank.example.com", "not contain user information"),
        ("https://@bank.example.com", "not contain user information"),
        ("https://bank.example.com/#part", "or a fragment"),
    ],
)
@pytest.mark.parametrize("local", [True, False])
def test_an_invalid_web_address_is_rejected_with_the_reason(url: str, reason: str, local: bool) -> None:
    with pytest.raises(InvalidAddress, match=reason):
        check_address(url, local=local)


@pytest.mark.parametrize("address", [*inputs.PUBLIC_IPV4, *inputs.PUBLIC_IPV6])
def test_an_ip_address_on_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", [*inputs.PRIVATE_IPV4, *inputs.PRIVATE_IPV6, "fe80::1%eth0"])
def test_special_purpose_ipv4_and_ipv6_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


def test_text_that_is_not_an_ip_address_raises_value_error() -> None:
    for text in ("bank.example.com", "127.1", "0177.0.0.1", "１27.0.0.1", ""):  # noqa: RUF001 - on purpose
        with pytest.raises(ValueError, match="does not appear"):
            is_public(text)
