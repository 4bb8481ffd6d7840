"""The bundle of authorities that issue the certificates of TPPs, read from a file or from S3 (``TPP_CA_BUNDLE``).

In S3 it is the object that API Gateway uses as its truststore, so that both trust the same authorities.
"""

from __future__ import annotations

from pathlib import Path

from chalicelib.foundation import aws, log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.certificates import TrustedAuthorities
from chalicelib.foundation.settings import InvalidSetting

CACHED_SECONDS = 60
_APPLICATION = Path(__file__).parents[2]


class CaBundle:
    """A PEM bundle at ``location``: a path, absolute or relative to the application's folder, or ``s3://bucket/key``.

    An operator's change takes effect within a minute.
    """

    def __init__(self, location: str, clock: Clock) -> None:
        self._location = location
        self._clock = clock
        self._authorities: TrustedAuthorities | None = None
        self._read_at = 0

    def authorities(self) -> TrustedAuthorities:
        """The authorities of the bundle, cached for up to a minute.

        If the bundle cannot be read again, the cached authorities stay in use for another period.

        Raises:
            InvalidSetting: the bundle cannot be read, or holds no certificates.
        """
        if self._authorities is None or self._clock.time() - self._read_at >= CACHED_SECONDS:
            self._authorities, self._read_at = self._read_again(), self._clock.time()
        return self._authorities

    def _read_again(self) -> TrustedAuthorities:
        try:
            return TrustedAuthorities(read_text(self._location))
        except Exception as error:
            if self._authorities is None:
                raise InvalidSetting("TPP_CA_BUNDLE", f"{self._location} cannot be used: {error}") from error
            log.exception("authorities not reloaded")
            return self._authorities


def read_text(location: str) -> str:
    """The text at a location of ``CaBundle``."""
    bucket, _, key = location.removeprefix("s3://").partition("/")
    if location.startswith("s3://"):
        return aws.Bucket(bucket).read(key).decode()
    return (_APPLICATION / location).read_text(encoding="utf-8")
