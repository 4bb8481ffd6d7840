"""Orders without a known outcome: the operator lists them, and settles one when the bank has said what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import ConditionFailed, Item, Operation, Store
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.parallel import pieces
from chalicelib.openbanking.protocol.payment_enumerations import PAYMENT_ID, is_payment_id
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.protocol.webhooks import PAYMENTS
from chalicelib.openbanking.records.payments import Payment, Payments, is_early, payment_key
from chalicelib.openbanking.records.request_ids import UNRESOLVED, RecordedOrder, RequestIdClaims, claim_key, order_key

_KINDS = {call.path: call.kind for call in PAYMENTS}


class NotSettled(Exception):
    """An order cannot be settled; the message says why."""


@dataclass(frozen=True, slots=True)
class UnresolvedOrders:
    """Lists and settles orders whose outcome is unknown."""

    store: Store
    clock: Clock
    payments: Payments
    request_claims: RequestIdClaims

    def list_unresolved(self, limit: int) -> list[RecordedOrder]:
        """At most ``limit`` orders that should have an outcome by now, oldest first."""
        rows = UNRESOLVED.rows(self.store, until=self.clock.time(), limit=limit)
        batches = [self.store.batch_get([claim_key(row["claim"]) for row in piece]) for piece in pieces(rows, 100)]
        orders = [RecordedOrder.from_item(item) for batch in batches for item in batch if item]
        return [order for order in orders if order is not None and order.unresolved_at is not None]

    def settle_taken(self, bic: str, request_id: str, payment_id: str) -> None:
        """Record that the bank has the payment, under ``payment_id``; queries and reports find it from then on.

        Raises:
            NotSettled.
        """
        found = self._require_unresolved(bic, request_id)
        if not is_payment_id(payment_id):
            raise NotSettled(f"a payment_id has 1 to {PAYMENT_ID} printable characters")
        if found.payment_id not in (None, payment_id):
            raise NotSettled(f"the bank named this payment {found.payment_id}")
        key, item = order_key(bic, request_id), self.store.get(*payment_key(bic, payment_id))
        taken = self.request_claims.update_taken(key, payment_id, found.order_digest)
        self._write(found, "taken", [self._write_of_payment(found, payment_id, item), taken])

    def settle_not_taken(self, bic: str, request_id: str) -> None:
        """Record that the bank does not have the payment. Raises: NotSettled."""
        found = self._require_unresolved(bic, request_id)
        writes: list[Operation] = [self.request_claims.update_not_taken(order_key(bic, request_id))]
        item = self.store.get(*payment_key(bic, found.payment_id)) if found.payment_id is not None else None
        if item is not None:
            known = Payment.from_item(item)
            writes.append(self.payments.update_payment(known, replace(known, outcome="not_taken")))
        self._write(found, "not_taken", writes)

    def _require_unresolved(self, bic: str, request_id: str) -> RecordedOrder:
        item = self.store.get(*order_key(bic, request_id))
        found = RecordedOrder.from_item(item) if item else None
        if found is None or found.unresolved_at is None:
            raise NotSettled(f"{bic} has no order {request_id} with an unknown outcome")
        if found.unresolved_at > self.clock.time():
            raise NotSettled("the order is still being sent: try again in a few minutes")
        return found

    def _write_of_payment(self, found: RecordedOrder, payment_id: str, item: Item | None) -> Operation:
        """The write of the payment that the bank has for an order. Raises: NotSettled, if it is another order's."""
        order, version = found.order, VERSIONS[found.order.api_version]
        new = self.payments.new(
            order.bic,
            payment_id,
            api_version=order.api_version,
            kind=_KINDS[order.path],
            client_id=order.client_id,
            consent_id=order.consent_id,
            request_id=order.request_id,
            order_digest=found.order_digest,
            status=version.statuses.first,
        )
        if item is None or is_early(item):
            return self.payments.put_payment(new, item)
        known = Payment.from_item(item)
        if not known.is_of_one_order_with(new):
            raise NotSettled(f"the payment {payment_id} belongs to another order")
        return self.payments.update_payment(known, replace(known, outcome=None))

    def _write(self, found: RecordedOrder, outcome: str, writes: Sequence[Operation]) -> None:
        try:
            self.store.transact(writes)
        except ConditionFailed:
            raise NotSettled("the order was changed concurrently: try again") from None
        log.info("order settled", bic=found.order.bic, order=found.order.request_id, outcome=outcome)
