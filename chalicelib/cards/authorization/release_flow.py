"""Ends of authorizations: simulateReversal and simulateExpiry (decisions, Simulator)."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.cards.authorization.authorization_record import Authorization, find_by_trans_link
from chalicelib.cards.authorization.hold_release import HoldRelease
from chalicelib.cards.protocol.simulator_messages import Released, SimulateExpiry, SimulateReversal
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import EXPIRY, REVERSAL
from chalicelib.cards.requests.request_context import Outcome, RequestContext
from chalicelib.cards.storage.record import WriteStamp


@dataclass(frozen=True, slots=True)
class ReleaseFlow:
    """Releases what the network says is not wanted any more."""

    hold_release: HoldRelease

    def simulate_reversal(self, request: SimulateReversal, context: RequestContext) -> Outcome[Released]:
        authorization = find_by_trans_link(context, request.trans_link)
        authorization.require(context.action)
        amount = authorization.left if request.amount is None else request.amount
        if amount > authorization.left:
            raise Refused(Status.MORE_THAN_ORIGINAL)
        return self._release(context, authorization, amount, REVERSAL)

    def simulate_expiry(self, request: SimulateExpiry, context: RequestContext) -> Outcome[Released]:
        authorization = find_by_trans_link(context, request.trans_link)
        authorization.require(context.action)
        return self._release(context, authorization, authorization.left, EXPIRY)

    def _release(
        self, context: RequestContext, authorization: Authorization, amount: int, kind: int
    ) -> Outcome[Released]:
        stamp = WriteStamp(context.at, context.write_id)
        release = self.hold_release.release(context.items, context.catalogue, authorization, amount, kind, stamp)
        data: Released = {
            "authorize_id": release.number,
            "released_amount": release.released,
            **release.account.visible_balances(context.level),
        }
        return Outcome(data, release.operations, events=release.events)
