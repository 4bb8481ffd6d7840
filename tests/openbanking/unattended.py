"""A bank that limits unattended reads, and a TPP that reads accounts there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.openbanking.records.consents import TABLE
from tests.causeway import Answer, Causeway
from tests.openbanking.examples import BY_WEBHOOK, SCOPES

ATTENDED = {"psu-ip-address": "192.0.2.7"}
LIMIT = 4


def limit_reads(causeway: Causeway, version: int = 2, limit: int | None = LIMIT) -> None:
    """Has a bank limit unattended reads, in this causeway only: the banks' records outlive it."""
    banks, bic = causeway.hub.openbanking.banks, causeway.banks[version].bic
    real = type(banks).find

    def find(asked: str, *, active: bool = True) -> Bank | None:
        bank = real(banks, asked, active=active)
        return replace(bank, unattended_reads=limit) if bank and bank.bic == bic else bank

    banks.find = find  # type: ignore[method-assign, assignment]


class Reader:
    """A TPP with a consent for all accounts, and a bank that answers well."""

    def __init__(self, causeway: Causeway, version: int = 2) -> None:
        self.causeway = causeway
        self.version = version
        self.side = causeway.banks[version]
        tokens = causeway.tpp.tokens(version, scopes=SCOPES[version])
        self.bearer, self.consent_id = tokens["access_token"], tokens["consent_id"]
        self.refresh_token = tokens["refresh_token"]
        for row in BY_WEBHOOK.values():
            if row.version == version:
                self.bank_gives(row.webhook, row.answer)

    def bank_gives(self, webhook: str, answer: Any) -> None:
        self.side.answers[webhook] = lambda sent: answer

    def read(self, call: str = "accounts", headers: Mapping[str, str] | None = None, **query: Any) -> Answer:
        path = f"/tpp/{call}" + (f"?{urlencode(query)}" if query else "")
        return self.causeway.tpp.call("GET", path, bearer=self.bearer, headers=headers)

    def use_up(self, call: str = "accounts", times: int = LIMIT, **query: Any) -> None:
        for _ in range(times):
            answer = self.read(call, **query)
            assert answer.status == 200, answer

    def refresh(self) -> None:
        """A new bearer of the same consent: bearers last an hour."""
        tokens = self.causeway.tpp.call("POST", "/tpp/token", {"refresh_token": self.refresh_token}).body
        self.bearer, self.refresh_token = tokens["access_token"], tokens["refresh_token"]

    @property
    def calls(self) -> int:
        """How many requests the bank got."""
        return len(self.side.received)

    def counted(self) -> int:
        """How many reads are counted, in all items of the consent."""
        return sum(len(item.get("reads", ())) for item in self.items())

    def items(self) -> list[dict[str, Any]]:
        rows = self.causeway.hub.store.rows(TABLE, ("consent_id", self.consent_id))
        return [item for item in rows if item["part"].startswith("reads#")]
