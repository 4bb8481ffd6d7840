"""What has waited long enough: for a provider's answer that nobody has written down, and for a cut-off."""

from __future__ import annotations

import math
from dataclasses import dataclass

from chalicelib.cards.due import DueItems
from chalicelib.cards.events import CardEvents
from chalicelib.cards.external.address_orders import AddressOrders
from chalicelib.cards.external.addresses import ExternalAddress
from chalicelib.cards.external.debits import Debits
from chalicelib.cards.external.finishing import Finishing
from chalicelib.cards.external.payment_orders import PaymentOrders
from chalicelib.cards.external.payments import ExternalPayment
from chalicelib.cards.external.telling import change_told
from chalicelib.cards.external.waiting import DUE
from chalicelib.cards.moment import Moment
from chalicelib.cards.programmes import Programmes
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.dynamodb.store import ConditionFailed, Conflict, Item, Store
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Overdue:
    """Looks through the index of due times."""

    store: Store
    clock: Clock
    metrics: Metrics
    programmes: Programmes
    finishing: Finishing
    payments: PaymentOrders
    addresses: AddressOrders
    debits: Debits
    events: CardEvents

    def finish(self, until: float = math.inf) -> int:
        """Look after everything whose time has come; answers how many have moved on, as ``DueItems.run``."""
        return DueItems(self.store, self.clock, self.metrics, DUE, "payment").run(self._finish, until)

    def _finish(self, item: Item) -> bool:
        if item["part"] == ExternalAddress.kind:
            return self.finishing.resume(self.addresses, ExternalAddress.from_item(item))
        payment = ExternalPayment.from_item(item)
        return self.finishing.resume(self.payments, payment) if payment.asks else self._pass_cut_off(payment)

    def _pass_cut_off(self, payment: ExternalPayment) -> bool:
        """Raises: StoreError."""
        catalogue = self.programmes.catalogue(payment.manager_id)
        moment = Moment(milliseconds(self.clock), new_id())
        change = self.debits.due(payment, catalogue, self.store.batch_get, moment)
        told = self.events.record(payment.manager_id, change_told(payment, change.payment))
        try:
            self.store.transact([*change.operations, *told.operations])
        except (ConditionFailed, Conflict):  # it was changed meanwhile, or the account was: the next run sees to it
            return False
        self.events.dispatch(told)
        return True
