"""Values at every place where they are sealed, and how all are sealed anew."""

from __future__ import annotations

from chalicelib.foundation.crypto.resealing import SETTLE_SECONDS
from tests.cards.issuer import Issuer
from tests.causeway import Causeway
from tests.openbanking.payments import Pisp, payment_answer


def seal_something_everywhere(causeway: Causeway) -> None:
    causeway.tpp.set_events_url()
    pisp = Pisp(causeway, 2, "direct")
    pisp.bank_answers(payment_answer(2, "P-1"))
    pisp.pay("key-1")
    Pisp(causeway, 1, "direct", deferred=True).order()
    tokens = causeway.tpp.tokens(1)
    causeway.tpp.call("POST", "/tpp/token", {"refresh_token": tokens["refresh_token"]})
    causeway.tpp.poll_events()
    causeway.tpp.send_test_event()
    issuer = Issuer(causeway)
    issuer.card(card_virtual=0, request_reference_id=issuer.reference())
    members = {"client_id": causeway.tpp.client_id, "bic": "ALPHGB21", "scopes": ["account.list"]}
    causeway.hub.website.journeys.begin("tpp@example.com", "of-the-tpp", members, "verifier")


def reseal_all(causeway: Causeway) -> None:
    causeway.hub.keyring.rotate_data_key()
    causeway.clock.advance(SETTLE_SECONDS)
    causeway.hub.resealing.request()
    for _ in range(3):
        progress = causeway.hub.resealing.run(causeway.clock.monotonic() + 1)
        assert progress is not None
        if progress.finished_at is not None:
            return
        assert progress.resealed, f"left: {progress.left}"
        causeway.clock.advance(SETTLE_SECONDS)
    raise AssertionError("values are left")
