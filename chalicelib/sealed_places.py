"""All places with values that are encrypted with the data keys, collected from the modules that store the values."""

from __future__ import annotations

from chalicelib.cards.card_data import sealed_places
from chalicelib.cards.events import event_secrets
from chalicelib.delivery import event_log, sealed_bodies
from chalicelib.foundation.crypto.sealed_places import SealedPlace
from chalicelib.foundation.requests import claims
from chalicelib.openbanking.records import authorization_requests, banks, clients, consents
from chalicelib.website.records import journeys

SEALED_PLACES: tuple[SealedPlace, ...] = (
    *banks.SEALED,
    *clients.SEALED,
    *authorization_requests.SEALED,
    *consents.SEALED,
    *claims.SEALED,
    *sealed_bodies.SEALED,
    *event_log.SEALED,
    *event_secrets.SEALED,
    *sealed_places.SEALED,
    *journeys.SEALED,
)
