"""What createCard and reissueCard share: the delivery and bulk block, emboss lines and track data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from chalicelib.cards.protocol.fields import AN, ANS, AS, A, CountryIson, Id
from chalicelib.cards.protocol.message import Check, Members, Needs, Request, given
from chalicelib.foundation.fields.problems import Problem

DELIVERY_MANDATORY = (
    "delivery_first_name",
    "delivery_last_name",
    "delivery_address_line_1",
    "delivery_country_ison",
    "delivery_zipcode",
    "delivery_city",
    "order_shipping_method",
)
"""What the order of a physical card needs."""

BULK_MANDATORY = ("bulk_address_line_1", "bulk_country_ison", "bulk_zipcode", "bulk_city")

BULK_CONDITION = Needs(BULK_MANDATORY, (given("order_delivery_code"),))


class WithDelivery(Request):
    """Where a physical card is sent, alone or with others."""

    delivery_title: ANS[1, 7] | None = None
    delivery_first_name: AS[1, 50] | None = None
    delivery_last_name: AS[1, 50] | None = None
    delivery_address_line_1: ANS[1, 100] | None = None
    delivery_address_line_2: ANS[1, 100] | None = None
    delivery_address_line_3: ANS[1, 100] | None = None
    delivery_address_line_4: ANS[1, 100] | None = None
    delivery_country_ison: CountryIson | None = None
    delivery_zipcode: ANS[1, 9] | None = None
    delivery_city: ANS[1, 50] | None = None
    delivery_state: ANS[1, 50] | None = None
    order_shipping_method: Id | None = None
    order_delivery_code: AN[1, 10] | None = None
    order_fulfil_1: AN[1, 10] | None = None
    order_fulfil_2: AN[1, 10] | None = None
    order_language: A[1, 3] | None = None
    bulk_address_line_1: ANS[1, 100] | None = None
    bulk_address_line_2: ANS[1, 100] | None = None
    bulk_address_line_3: ANS[1, 100] | None = None
    bulk_address_line_4: ANS[1, 100] | None = None
    bulk_country_ison: CountryIson | None = None
    bulk_zipcode: ANS[1, 9] | None = None
    bulk_city: ANS[1, 50] | None = None
    bulk_state: ANS[1, 50] | None = None


DELIVERY_BLOCK = tuple(name for name in WithDelivery.model_fields if name != "access_level")
"""The delivery and bulk block; ignored for a virtual card."""

TRACK_NAME = 26
"""So long may both track data names be together."""


def track_names(values: Members) -> Iterator[Problem]:
    """Both track data names have a length together."""
    if sum(len(values.get(name) or "") for name in ("track_data_first_name", "track_data_last_name")) > TRACK_NAME:
        reason = f"and track_data_last_name must have at most {TRACK_NAME} characters together"
        yield Problem("track_data_first_name", "length", reason)


class WithEmbossing(WithDelivery):
    """What is written upon a card and into its chip."""

    further: ClassVar[tuple[Check, ...]] = (track_names,)

    card_name_line_3: ANS[3, 26]
    track_data_first_name: ANS[1, 26] | None = None
    track_data_last_name: ANS[1, 26] | None = None
