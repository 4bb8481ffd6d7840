"""What has waited long enough: for a provider's answer that nobody has written down, and for a cut-off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from boto3.dynamodb.conditions import Attr

from chalicelib.cards.external.address_orders import AddressOrders
from chalicelib.cards.external.addresses import ExternalAddress
from chalicelib.cards.external.debits import Debits
from chalicelib.cards.external.finishing import Finishing
from chalicelib.cards.external.payment_orders import PaymentOrders
from chalicelib.cards.external.payments import ExternalPayment
from chalicelib.cards.external.waiting import ASKING_SECONDS, DUE, TABLE, Moment
from chalicelib.cards.programmes import Programmes
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.parallel import pieces, together
from chalicelib.foundation.store import ConditionFailed, Conflict, Item, Store, StoreError

AT_ONCE = 20
"""So many payments are looked after at the same time."""
MOST = 2_000
"""So many are looked for in a run; the next one goes on."""
RUN_SECONDS = 40
"""No further ones are begun after so long."""


@dataclass(frozen=True, slots=True)
class Overdue:
    """Looks through the index of due times."""

    store: Store
    clock: Clock
    programmes: Programmes
    finishing: Finishing
    payments: PaymentOrders
    addresses: AddressOrders
    debits: Debits

    def finish(self) -> int:
        """Look after everything whose time has come; answers how many have moved on."""
        until, moved = self.clock.monotonic() + RUN_SECONDS, 0
        rows = DUE.rows(self.store, until=self.clock.time(), limit=MOST)
        for piece in pieces(rows, AT_ONCE):
            if self.clock.monotonic() > until:
                break
            moved += self._finish(piece)
        return moved

    def _finish(self, rows: Sequence[Item]) -> int:
        found = self.store.batch_get([(TABLE, {"owner": row["owner"], "part": row["part"]}) for row in rows])
        return sum(together([partial(self._one, item) for item in found if item is not None]))

    def _one(self, item: Item) -> bool:
        """Look after one; what goes wrong with it is tried again, and keeps nobody else from being looked after."""
        if item.get("due_at", self.clock.time() + 1) > self.clock.time():  # the index was behind
            return False
        try:
            if item["part"] == ExternalAddress.kind:
                return self.finishing.resume(self.addresses, ExternalAddress.from_item(item))
            payment = ExternalPayment.from_item(item)
            return self.finishing.resume(self.payments, payment) if payment.asks else self._pass_cut_off(payment)
        except Exception:
            log.exception("payment not finished", kind=item["part"], id=item["id"])
            self._put_off(item)
            return False

    def _put_off(self, item: Item) -> None:
        """Have others have their turn before one that cannot be finished is looked at again."""
        key = {"owner": item["owner"], "part": item["part"]}
        later = {"due_at": self.clock.time() + ASKING_SECONDS}
        try:
            self.store.update(TABLE, key, set=later, condition=Attr("due_at").eq(item["due_at"]))
        except StoreError:
            log.warning("payment not put off", kind=item["part"], id=item["id"])

    def _pass_cut_off(self, payment: ExternalPayment) -> bool:
        """Raises: StoreError."""
        catalogue = self.programmes.catalogue(payment.manager_id)
        moment = Moment(milliseconds(self.clock), new_id())
        change = self.debits.due(payment, catalogue, self.store.batch_get, moment)
        try:
            self.store.transact(change.operations)
        except (ConditionFailed, Conflict):  # it was changed meanwhile, or the account was: the next run sees to it
            return False
        return True
