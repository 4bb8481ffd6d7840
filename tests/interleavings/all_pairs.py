"""The pairs of all modules."""

from __future__ import annotations

from tests.interleavings import card_pairs, delivery_pairs, openbanking_pairs

PAIRS = openbanking_pairs.pair | card_pairs.pair | delivery_pairs.pair
