"""Ends of authorizations: simulateReversal and simulateExpiry (decisions, Simulator)."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.cards.authorization.authorization_record import Authorization, linked
from chalicelib.cards.authorization.balances import balances
from chalicelib.cards.authorization.hold_release import Releasing
from chalicelib.cards.protocol.simulator_messages import SimulateExpiry, SimulateReversal
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.cards.protocol.values import EXPIRY, REVERSAL
from chalicelib.cards.requests.request_context import Call, Outcome
from chalicelib.cards.storage.write_stamp import Moment


@dataclass(frozen=True, slots=True)
class ReleaseFlow:
    """Releases what the network says is not wanted any more."""

    releasing: Releasing

    def simulate_reversal(self, call: Call) -> Outcome:
        request: SimulateReversal = call.request
        authorization = linked(call, request.trans_link)
        authorization.require(call.action.name)
        amount = authorization.left if request.amount is None else request.amount
        if amount > authorization.left:
            raise Refused(Status.MORE_THAN_ORIGINAL)
        return self._released(call, authorization, amount, REVERSAL)

    def simulate_expiry(self, call: Call) -> Outcome:
        request: SimulateExpiry = call.request
        authorization = linked(call, request.trans_link)
        authorization.require(call.action.name)
        return self._released(call, authorization, authorization.left, EXPIRY)

    def _released(self, call: Call, authorization: Authorization, amount: int, kind: int) -> Outcome:
        moment = Moment(call.at, call.write_id)
        release = self.releasing.release(call.items, call.catalogue, authorization, amount, kind, moment)
        data = {"authorize_id": release.number, "released_amount": release.released}
        return Outcome(data | balances(call, release.account), release.operations, events=release.events)
