"""The delivery plan of emails."""

from __future__ import annotations

from chalicelib.delivery.delivery_plan import DAY, HOUR, MINUTE, DeliveryPlan, Plans

PLANS: Plans = {
    "mail": DeliveryPlan(
        lane="notices",
        waits=(5, 30, 2 * MINUTE, 10 * MINUTE),
        max_postponement=12 * MINUTE,
        lifetime=HOUR,
        retention=DAY,
    )
}
