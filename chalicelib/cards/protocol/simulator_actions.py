"""The table of the sandbox's simulator: one row is one action of ``POST /simulator``, which is not there in prod."""

from __future__ import annotations

from chalicelib.cards.protocol import payment_simulator_messages as outside
from chalicelib.cards.protocol import report_messages as reports
from chalicelib.cards.protocol import simulator_messages as simulator
from chalicelib.cards.protocol.action import Action

_ROWS = (
    Action(
        "simulateAuthentication",
        "simulator",
        "write",
        simulator.SimulateAuthentication,
        simulator.Authentication,
        "object",
        "Have an online shop ask for 3-D Secure",
    ),
    Action(
        "simulateAuthorization",
        "authorizations",
        "write",
        simulator.SimulateAuthorization,
        simulator.Authorization,
        "object",
        "Have the network ask whether a card may be used",
        patience=2,
        late="decline_late",
    ),
    Action(
        "simulateAdvice",
        "authorizations",
        "write",
        simulator.SimulateAdvice,
        simulator.Authorization,
        "object",
        "Have the network tell what it decided in the issuer's place",
    ),
    Action(
        "simulateIncrement",
        "authorizations",
        "write",
        simulator.SimulateIncrement,
        simulator.Authorization,
        "object",
        "Have a shop ask for more on an authorization",
    ),
    Action(
        "simulateReversal",
        "releases",
        "write",
        simulator.SimulateReversal,
        simulator.Released,
        "object",
        "Have a shop give up an authorization, or a part of it",
    ),
    Action(
        "simulateExpiry",
        "releases",
        "write",
        simulator.SimulateExpiry,
        simulator.Released,
        "object",
        "Have the hold of an authorization be over",
    ),
    Action(
        "simulateClearing",
        "clearings",
        "write",
        simulator.SimulateClearing,
        simulator.Cleared,
        "object",
        "Have a shop collect",
    ),
    Action(
        "simulateRefund",
        "clearings",
        "write",
        simulator.SimulateRefund,
        simulator.Cleared,
        "object",
        "Have a shop give money back",
    ),
    Action(
        "simulateDispute",
        "disputes",
        "write",
        simulator.SimulateDispute,
        simulator.Disputed,
        "object",
        "Have the holder dispute a transaction, and win or lose",
    ),
    Action(
        "simulateInboundPayment",
        "outside",
        "write",
        outside.SimulateInboundPayment,
        outside.InboundPayment,
        "object",
        "Have another bank pay to an address",
    ),
    Action(
        "simulateMandate",
        "outside",
        "write",
        outside.SimulateMandate,
        outside.NewMandate,
        "object",
        "Have a creditor get a direct debit mandate",
    ),
    Action(
        "simulateDirectDebit",
        "outside",
        "write",
        outside.SimulateDirectDebit,
        outside.Collection,
        "object",
        "Have a creditor collect, or the cut-off of a collection pass",
    ),
    Action(
        "simulateOutboundResult",
        "outside",
        "write",
        outside.SimulateOutboundResult,
        outside.OutboundResult,
        "object",
        "Have the provider report what became of a payment out",
    ),
    Action(
        "simulateAddendum",
        "reports",
        "write",
        reports.SimulateAddendum,
        reports.NewAddendum,
        "object",
        "Have the network tell details of a transaction",
    ),
)

SIMULATED = {row.name: row for row in _ROWS}
"""``POST /simulator``, outside prod."""
