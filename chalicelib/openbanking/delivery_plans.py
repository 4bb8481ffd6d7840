"""The plans of open banking deliveries, by kind of delivery."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.delivery.delivery_plan import DAY, HOUR, MINUTE, NOTIFICATION, DeliveryPlan, Plans

PLANS: Plans = {
    "revoke_token": NOTIFICATION,
    "event": replace(NOTIFICATION, keeps_replies=True),
    "relay": DeliveryPlan(
        lane="questions",
        waits=(5, 10, 20, 40, 60, 60, 60),
        max_postponement=MINUTE,
        lifetime=5 * MINUTE,
        retention=DAY,
        has_caller=True,
        keeps_replies=True,
    ),
    "payment": DeliveryPlan(
        lane="payments",
        waits=(5,),
        max_postponement=MINUTE,
        lifetime=5 * MINUTE,
        retention=DAY,
        has_caller=True,
        keeps_replies=True,
    ),
    "payment_status": DeliveryPlan(
        lane="questions",
        waits=(MINUTE, 4 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 5 * HOUR, 6 * HOUR),
        max_postponement=12 * MINUTE,
        lifetime=DAY,
        retention=30 * DAY,
    ),
}
WITH_CALLER = frozenset(kind for kind, plan in PLANS.items() if plan.has_caller)
"""The kinds of delivery for which a caller waits for the outcome."""
