"""Infrastructure shared by all packages: settings, clock, storage, keys, and outbound clients."""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from chalicelib.foundation.aws import calls
from chalicelib.foundation.aws.data_keys import Kms
from chalicelib.foundation.aws.secrets import Secrets
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.crypto.keyring import Keyring, Vault
from chalicelib.foundation.dynamodb.store import Store
from chalicelib.foundation.http.outbound import Outbound
from chalicelib.foundation.mail import FileMailer, Mailer
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.settings import Settings

if TYPE_CHECKING:
    from chalicelib.foundation.ca_bundle import CaBundle


class Infrastructure:
    """The shared components of one stage. Each component is created on first use."""

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self.settings = settings
        self.clock = clock or (self._moved_clock() if settings.is_local else Clock())

    def _moved_clock(self) -> Clock:
        from chalicelib.foundation.moved_clock import ClockOffset, MovedClock

        return MovedClock(Clock(), lambda: ClockOffset(self.store).read())

    @cached_property
    def store(self) -> Store:
        return Store(partial(calls.send, "dynamodb"), self.settings.prefix)

    @cached_property
    def secrets(self) -> Secrets:
        return Secrets()

    @cached_property
    def kms(self) -> Kms:
        return Kms(self.settings.kms_key_id)

    @cached_property
    def keyring(self) -> Keyring:
        return Keyring(self.secrets, self.kms, self.settings.keys_secret, self.clock.real)

    @cached_property
    def vault(self) -> Vault:
        return Vault(self.keyring)

    @cached_property
    def metrics(self) -> Metrics:
        return Metrics(self.settings.stage)

    @cached_property
    def outbound(self) -> Outbound:
        return Outbound(public_only=not self.settings.is_local, ca_file=self.settings.outbound_ca_file)

    @cached_property
    def tpp_ca_bundle(self) -> CaBundle:
        """The authorities that issue the certificates of TPPs."""
        from chalicelib.foundation.ca_bundle import CaBundle

        return CaBundle("TPP_CA_BUNDLE", self.settings.tpp_ca_bundle, self.clock.real)

    @cached_property
    def bank_ca_bundle(self) -> CaBundle:
        """The authorities that issue the certificates of banks."""
        from chalicelib.foundation.ca_bundle import CaBundle

        return CaBundle("BANK_CA_BUNDLE", self.settings.bank_ca_bundle, self.clock.real)

    @cached_property
    def mailer(self) -> Mailer:
        if self.settings.is_local:
            return FileMailer(Path(self.settings.mail_folder))
        from chalicelib.foundation.aws.boto3_clients import SesMailer

        return SesMailer(self.settings.mail_from)
