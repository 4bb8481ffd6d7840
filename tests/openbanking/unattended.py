"""A bank that limits unattended reads, and a TPP that reads accounts there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.consents import TABLE
from tests.openbanking.examples import BY_WEBHOOK, SCOPES
from tests.world import Answer, World

ATTENDED = {"psu-ip-address": "192.0.2.7"}
LIMIT = 4


def limit_reads(world: World, version: int = 2, limit: int | None = LIMIT) -> None:
    """Has a bank limit unattended reads, in this world only: the banks' records outlive it."""
    banks, bic = world.hub.openbanking.banks, world.banks[version].bank.bic
    real = type(banks).find

    def find(asked: str, *, active: bool = True) -> Bank | None:
        bank = real(banks, asked, active=active)
        return replace(bank, unattended_reads=limit) if bank and bank.bic == bic else bank

    banks.find = find  # type: ignore[method-assign, assignment]


class Reader:
    """A TPP with a consent for all accounts, and a bank that answers well."""

    def __init__(self, world: World, version: int = 2) -> None:
        self.world = world
        self.version = version
        self.side = world.banks[version]
        tokens = world.tokens(version, scopes=SCOPES[version])
        self.bearer, self.consent_id = tokens["access_token"], tokens["consent_id"]
        self.refresh_token = tokens["refresh_token"]
        for row in BY_WEBHOOK.values():
            if row.version == version:
                self.bank_gives(row.webhook, row.answer)

    def bank_gives(self, webhook: str, answer: Any) -> None:
        self.side.answers[webhook] = lambda sent: answer

    def read(self, call: str = "accounts", headers: Mapping[str, str] | None = None, **query: Any) -> Answer:
        path = f"/tpp/{call}" + (f"?{urlencode(query)}" if query else "")
        return self.world.tpp("GET", path, bearer=self.bearer, headers=headers)

    def use_up(self, call: str = "accounts", times: int = LIMIT, **query: Any) -> None:
        for _ in range(times):
            answer = self.read(call, **query)
            assert answer.status == 200, answer

    def refresh(self) -> None:
        """A new bearer of the same consent: bearers last an hour."""
        tokens = self.world.tpp("POST", "/tpp/token", {"refresh_token": self.refresh_token}).body
        self.bearer, self.refresh_token = tokens["access_token"], tokens["refresh_token"]

    @property
    def calls(self) -> int:
        """How many requests the bank got."""
        return len(self.side.received)

    def counted(self) -> int:
        """How many reads are counted, in all items of the consent."""
        return sum(len(item.get("reads", ())) for item in self.items())

    def items(self) -> list[dict[str, Any]]:
        rows = self.world.hub.store.rows(TABLE, ("consent_id", self.consent_id))
        return [item for item in rows if item["part"].startswith("reads#")]
