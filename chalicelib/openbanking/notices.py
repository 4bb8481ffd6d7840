"""Notices to banks that nobody waits for: what the delivery worker sends (specification, Events: revoke_token)."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.delivery.outbox import Delivery
from chalicelib.delivery.worker import Undeliverable
from chalicelib.foundation.store import Store
from chalicelib.openbanking.bank_link import BankFailed, BankLink, understand
from chalicelib.openbanking.banks import Banks
from chalicelib.openbanking.consents import Consent, Consents, consent_key
from chalicelib.openbanking.protocol.webhooks import REVOKE_TOKEN

_GONE = (404, 410)


@dataclass(frozen=True, slots=True)
class Notices:
    """Sends what a delivery record asks for."""

    store: Store
    banks: Banks
    consents: Consents
    link: BankLink

    def revoke_token(self, delivery: Delivery) -> None:
        """Tell a bank that a consent has ended; only status success counts, and a bank that does not know it ends it.

        Raises:
            Undeliverable: with the bank's reason.
        """
        item = self.store.get(*consent_key(delivery.consent_id))
        bank = self.banks.find(delivery.receiver, active=False)
        if item is None or bank is None:
            raise Undeliverable("the consent or its bank is gone", final=True)
        if not bank.active:
            raise Undeliverable("the bank is switched off")
        token = self.consents.bank_token(Consent.from_item(item))
        outgoing = self.link.prepare(
            bank, REVOKE_TOKEN.path, {"access_token": token}, request_id=delivery.request_id, token=token
        )
        try:
            reply = self.link.send(outgoing)
            if reply.status in _GONE:
                raise Undeliverable(f"the bank answered with status {reply.status}", final=True)
            understand(1, reply)
        except BankFailed as failure:
            raise Undeliverable(self.link.without_secrets(failure, outgoing).detail) from None
