"""The demonstration banks as data: names, countries and protocol versions."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS

BankName = Literal["one", "two", "faults-one", "faults-two"]


@dataclass(frozen=True, slots=True)
class Profile:
    """One demonstration bank.

    Attributes:
        name: the path segment in the bank's URLs.
        version: the number of the bank's protocol version.
        schemes: the payment schemes that the bank offers.
        look: the style sheet with the bank's colours.
        plays_faults: whether the bank's customers represent faults.
        consent_days: the validity of consents in days.
        number_length: the digits of an account number.
    """

    name: BankName
    version: int
    bic: str
    country: str
    title: str
    tagline: str
    schemes: tuple[str, ...]
    look: Literal["one", "two"]
    plays_faults: bool = False
    consent_days: int = 180
    number_length: int = 8

    @property
    def protocol(self) -> Version:
        """The protocol version of the bank."""
        return VERSIONS[self.version]

    def domain(self, public_url: str) -> str:
        """The bank's base URL, to which webhooks are sent."""
        return f"{public_url}/demo-bank/{self.name}"

    def authorization_url(self, public_url: str) -> str:
        """The URL of the authorization page."""
        return f"{self.domain(public_url)}/authorize"

    def path(self, public_url: str) -> str:
        """The path of the bank's base URL, without scheme and host. Links within the bank start with it."""
        return urlsplit(self.domain(public_url)).path


_BRITISH_SCHEMES = ("FPS", "BACS", "CHAPS", "SCT", "SCTI")
_GERMAN_SCHEMES = ("SCT", "SCTI", "SWIFT")
_FAULTS_TAGLINE = "Everything here goes wrong on purpose."
PROFILES: tuple[Profile, ...] = (
    Profile(
        name="one",
        version=1,
        bic="DEMOGB21",
        country="GB",
        title="Demo Bank One",
        tagline="Everyday banking, British weather included.",
        schemes=_BRITISH_SCHEMES,
        look="one",
    ),
    Profile(
        name="two",
        version=2,
        bic="DEMODEF1",
        country="DE",
        title="Demo Bank Two",
        tagline="One bank for every currency around the Baltic.",
        schemes=_GERMAN_SCHEMES,
        look="two",
        number_length=10,
    ),
    Profile(
        name="faults-one",
        version=1,
        bic="DEMOGB2F",
        country="GB",
        title="Demo Fault Bank One",
        tagline=_FAULTS_TAGLINE,
        schemes=_BRITISH_SCHEMES,
        look="one",
        plays_faults=True,
    ),
    Profile(
        name="faults-two",
        version=2,
        bic="DEMODE2F",
        country="DE",
        title="Demo Fault Bank Two",
        tagline=_FAULTS_TAGLINE,
        schemes=_GERMAN_SCHEMES,
        look="two",
        plays_faults=True,
        number_length=10,
    ),
)

BY_NAME: dict[str, Profile] = {profile.name: profile for profile in PROFILES}
