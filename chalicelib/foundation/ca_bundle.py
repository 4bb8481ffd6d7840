"""The CA bundles for certificates of callers, from a file or S3 (``TPP_CA_BUNDLE``, ``BANK_CA_BUNDLE``).

A bundle in S3 is the truststore object of API Gateway, so the service and API Gateway trust the same authorities.
"""

from __future__ import annotations

from pathlib import Path

from chalicelib.foundation import log
from chalicelib.foundation.aws.boto3_clients import Bucket
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.certificates import Certificate, InvalidCertificate, TrustedAuthorities
from chalicelib.foundation.settings import InvalidSetting

CACHED_SECONDS = 60
_APPLICATION = Path(__file__).parents[2]


class CaBundle:
    """A PEM bundle at ``location``: a path, absolute or relative to the application's folder, or ``s3://bucket/key``.

    ``variable`` is the setting that configures the bundle. Without a location, no authority is trusted. Changes take
    effect within a minute.
    """

    def __init__(self, variable: str, location: str | None, clock: Clock) -> None:
        self._variable = variable
        self._location = location
        self._clock = clock
        self._authorities: TrustedAuthorities | None = None
        self._read_at = 0

    def check(self, certificate: Certificate) -> None:
        """Check that a certificate is valid now and issued by an authority of the bundle.

        The authorities are cached for up to a minute. If the bundle cannot be read again, they remain in use for
        another minute.

        Raises:
            InvalidCertificate: the check fails, or there is no bundle.
            InvalidSetting: the bundle cannot be read, or contains no certificates.
        """
        if self._location is None:
            raise InvalidCertificate(f"this stage trusts no authority: {self._variable} is not set")
        now = self._clock.time()
        if self._authorities is None or not 0 <= now - self._read_at < CACHED_SECONDS:
            self._authorities, self._read_at = self._read_again(self._location), now
        self._authorities.check(certificate, now)

    def _read_again(self, location: str) -> TrustedAuthorities:
        try:
            return TrustedAuthorities(read_text(location))
        except Exception as error:
            if self._authorities is None:
                raise InvalidSetting(self._variable, f"{location} cannot be used: {error}") from error
            log.exception("authorities not reloaded")
            return self._authorities


def read_text(location: str) -> str:
    """Read the text at a location, which has the format of ``CaBundle.location``."""
    bucket, _, key = location.removeprefix("s3://").partition("/")
    if location.startswith("s3://"):
        return Bucket(bucket).read(key).decode()
    return (_APPLICATION / location).read_text(encoding="utf-8")
