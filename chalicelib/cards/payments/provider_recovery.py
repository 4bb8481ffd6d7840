"""What has waited long enough: for a provider's answer that nobody has written down, and for a cut-off."""

from __future__ import annotations

import math
from dataclasses import dataclass

from chalicelib.cards.events.card_events import CardEvents
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.payments.direct_debits import DirectDebits
from chalicelib.cards.payments.event_payloads import change_events
from chalicelib.cards.payments.payment_record import ExternalPayment
from chalicelib.cards.payments.pending_index import DUE
from chalicelib.cards.payments.provider_completion import ProviderCompletion
from chalicelib.cards.payments.provider_orders import AddressOpening, PaymentOrders
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.storage.due_index import DueItems
from chalicelib.cards.storage.record import WriteStamp
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.dynamodb.store import ConditionFailed, Conflict, Item, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.metrics import Metrics


@dataclass(frozen=True, slots=True)
class ProviderRecovery:
    """Looks through the index of due times."""

    store: Store
    clock: Clock
    metrics: Metrics
    programmes: Programmes
    completion: ProviderCompletion
    payments: PaymentOrders
    addresses: AddressOpening
    debits: DirectDebits
    events: CardEvents

    def finish(self, until: float = math.inf) -> int:
        """Look after everything whose time has come; answers how many have moved on, as ``DueItems.run``."""
        return DueItems(self.store, self.clock, self.metrics, DUE, "payment").run(self._finish, until)

    def _finish(self, item: Item) -> bool:
        if item["part"] == ExternalAddress.kind:
            return self.completion.resume(self.addresses, ExternalAddress.from_item(item))
        payment = ExternalPayment.from_item(item)
        return self.completion.resume(self.payments, payment) if payment.asks else self._pass_cut_off(payment)

    def _pass_cut_off(self, payment: ExternalPayment) -> bool:
        """Raises: StoreError."""
        catalogue = self.programmes.catalogue(payment.manager_id)
        stamp = WriteStamp(milliseconds(self.clock), new_id())
        change = self.debits.decide(payment, catalogue, self.store.batch_get, stamp)
        told = self.events.record(payment.manager_id, change_events(payment, change.payment))
        try:
            self.store.transact([*change.operations, *told.operations])
        except (ConditionFailed, Conflict):  # it was changed meanwhile, or the account was: the next run sees to it
            return False
        self.events.dispatch(told)
        return True
