"""Cookies of the service's pages. They are hidden from scripts, not sent with forms of other sites, and bound to this
host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie, whose name has a prefix if TLS is used (RFC 6265bis, section 4.1.3).

    Browsers accept ``__Host-`` cookies only from the host itself, over TLS, for all paths. Other subdomains and network
    attackers cannot set them. A cookie that is limited to a path has the prefix ``__Secure-`` instead. Earlier releases
    set cookies under the plain name. For one release, cookies with the plain name are still read.

    Attributes:
        name: the plain name.
        path: the path of the pages. Without TLS, and if ``is_limited``, the cookie is sent only to this path.
        secure: whether browsers reach the service over TLS.
    """

    name: str
    path: str
    secure: bool
    is_limited: bool = False

    @property
    def full_name(self) -> str:
        if not self.secure:
            return self.name
        return f"{'__Secure-' if self.is_limited else '__Host-'}{self.name}"

    def read(self, sent: Callable[[str], str]) -> str:
        """Read the cookie's value, or an empty string. The function ``sent`` returns the value of a cookie name in the
        request.
        """
        return sent(self.full_name) or sent(self.name)

    def set(self, sent: Callable[[str], str], value: str, seconds: int) -> Sequence[str]:
        """Return the Set-Cookie values that store ``value``. If ``seconds`` is 0, the values delete the cookie.

        A received cookie under the plain name is deleted.
        """
        path = "/" if self.secure and not self.is_limited else self.path
        values = [_format(self.full_name, value, seconds, path, self.secure)]
        if self.full_name != self.name and sent(self.name):
            values.append(_format(self.name, "", 0, self.path, self.secure))
        return values


def _format(name: str, value: str, seconds: int, path: str, secure: bool) -> str:
    flags = "; HttpOnly; SameSite=Lax" + ("; Secure" if secure else "")
    return f"{name}={value}; Path={path}; Max-Age={seconds}{flags}"
