"""The names and flags of cookies depend on TLS. Cookies that earlier releases set are also read."""

from collections.abc import Callable

import pytest

from chalicelib.foundation.http.cookies import Cookie

PLAIN = Cookie("n", "/p", secure=False)
HOST = Cookie("n", "/p", secure=True)
LIMITED = Cookie("n", "/p/sign-in", secure=True, is_limited=True)


def _sent(**cookies: str) -> Callable[[str], str]:
    return lambda name: cookies.get(name, "")


@pytest.mark.parametrize(
    ("cookie", "expected"),
    [
        (PLAIN, "n=v; Path=/p; Max-Age=60; HttpOnly; SameSite=Lax"),
        (HOST, "__Host-n=v; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"),
        (LIMITED, "__Secure-n=v; Path=/p/sign-in; Max-Age=60; HttpOnly; SameSite=Lax; Secure"),
    ],
)
def test_a_cookie_set_over_tls_has_the_prefix_and_the_flags_of_its_kind(cookie: Cookie, expected: str) -> None:
    assert cookie.set(_sent(), "v", 60) == [expected]


def test_a_cookie_set_under_the_unprefixed_name_is_read() -> None:
    assert HOST.read(_sent(n="old")) == "old"
    assert HOST.read(_sent(n="old", **{"__Host-n": "new"})) == "new"
    assert LIMITED.read(_sent(**{"__Secure-n": "new"})) == "new"
    assert PLAIN.read(_sent(**{"__Host-n": "new"})) == ""


@pytest.mark.parametrize(("value", "seconds"), [("v", 60), ("", 0)])
def test_setting_or_deleting_a_cookie_deletes_the_cookie_with_the_unprefixed_name(value: str, seconds: int) -> None:
    assert HOST.set(_sent(n="old"), value, seconds) == [
        f"__Host-n={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax; Secure",
        "n=; Path=/p; Max-Age=0; HttpOnly; SameSite=Lax; Secure",
    ]
