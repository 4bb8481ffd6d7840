"""Published reports of the conformance kit, stored next to the banks. Each report is a separate, compressed item.

A report is public. It contains the exchanged messages of failed checks only, shortened, and no secrets.
"""

from __future__ import annotations

import re
import zlib
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from chalicelib.foundation import jsontext
from chalicelib.foundation.dynamodb.store import Item
from chalicelib.foundation.fields.field_types import Message
from chalicelib.foundation.fields.problems import InvalidMessage, fault
from chalicelib.openbanking.protocol.bics import spellings
from chalicelib.openbanking.protocol.fields import AN, Bic, Timestamp
from chalicelib.openbanking.records.bank_record import Bank, InvalidBank

TABLE = "banks"
FILE_BYTES = 8 * 1024 * 1024
ITEM_BYTES = 300 * 1024
"""The maximum size of a compressed report. An item of DynamoDB has at most 400 KB."""
SHOWN_CHARACTERS = 800
"""The number of characters that are stored of each problem and message."""
_PREFIX = "report/"
_SECRETS = (
    re.compile(r"PRIVATE KEY-----"),
    re.compile(
        r"^(?:x-api-key|x-auth-token|x-signature|authorization|cookie|set-cookie):(?!\s*\*\*\*\s*$)\s*\S",
        re.IGNORECASE | re.MULTILINE,
    ),
    re.compile(r"(?<![\w-])[\w-]{8,}\.[A-Za-z0-9_-]{43}(?![\w-])"),
)
"""Texts that a report must not contain: private keys, unmasked headers with credentials, and the service's credentials.
"""

Result = Literal["conforms", "fails", "unknown", "partial"]
"""Whether the bank conforms; ``partial`` if only some of the checks were selected, and no mandatory check failed."""


def _read_time(text: str) -> str:
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        fault("value", "must be a time")


Text = Annotated[str, Field(max_length=2000)]
LongText = Annotated[str, Field(max_length=100_000)]


class Check(Message):
    """The outcome of a check. ``received`` begins with the problem of a failed check, or is the reason of a skip."""

    id: AN[128]
    title: AN[300]
    paragraph: AN[300]
    level: Literal["mandatory", "advice"]
    outcome: Literal["passed", "failed", "skipped"]
    problem: LongText
    sent: LongText
    received: LongText
    expected: Text

    @property
    def group(self) -> str:
        """The webhook or the part of the protocol that the check is about."""
        return self.id.partition(".")[0]

    @property
    def is_advice(self) -> bool:
        """Whether an advisory check failed."""
        return self.outcome == "failed" and self.level == "advice"

    @property
    def fails_report(self) -> bool:
        """Whether a mandatory check failed."""
        return self.outcome == "failed" and self.level == "mandatory"

    @property
    def published(self) -> Check:
        """The check without the messages unless it failed, and without the problem in ``received``."""
        received = self.received.removeprefix(self.problem).lstrip()
        sent, received = (self.sent, received) if self.outcome == "failed" else ("", "")
        return self.model_copy(update={"sent": sent, "received": received})

    @property
    def shortened(self) -> Check:
        """The check with the beginning of each message."""
        texts = {"sent": self.sent, "received": self.received, "problem": self.problem}
        return self.model_copy(update={name: _shorten(text) for name, text in texts.items()})


class ConformanceReport(Message):
    """A report that the kit wrote as JSON. ``verdict`` is a sentence; ``narrowed`` names what the bank excluded."""

    bank: Bic
    version: Annotated[int, Field(ge=1, le=99)]
    started_at: Annotated[Timestamp, AfterValidator(_read_time)]
    result: Result
    verdict: Text
    narrowed: Text
    checks: Annotated[list[Check], Field(min_length=1, max_length=5000)]

    @property
    def summary(self) -> Item:
        """The part of the report that the bank's record has."""
        return {"result": self.result, "version": self.version, "started_at": self.started_at}

    def to_item(self, bic: str) -> Item:
        """Return the report's item. Raises: InvalidBank, if the report is too large."""
        content = zlib.compress(jsontext.dumps(self.model_dump()).encode())
        if len(content) > ITEM_BYTES:
            raise InvalidBank(f"the report has {len(content)} bytes, compressed; at most {ITEM_BYTES} are allowed")
        _, key = report_key(bic)
        return {**key, "content": content}

    @classmethod
    def from_item(cls, item: Item) -> ConformanceReport:
        return cls.read(jsontext.read_stored(zlib.decompress(item["content"]).decode()))


def report_key(bic: str) -> tuple[str, Item]:
    """Return the table and key of a bank's report. The key's prefix distinguishes reports from banks."""
    return TABLE, {"bic": f"{_PREFIX}{bic}"}


def read_report(content: bytes, bank: Bank) -> ConformanceReport:
    """Validate a report about a bank, and remove what is not published. Raises: InvalidBank."""
    report = _parse(content)
    if bank.bic not in spellings(report.bank):
        raise InvalidBank(f"the report is about {report.bank}, not about {bank.bic}")
    if report.version != bank.api_version:
        raise InvalidBank(f"the report is about version {report.version}; {bank.bic} has version {bank.api_version}")
    if (report.result == "fails") != any(check.fails_report for check in report.checks):
        raise InvalidBank("the report's result contradicts its checks")
    published = [check.published for check in report.checks]
    _refuse_secrets(report.model_copy(update={"checks": published}))  # before a cut makes a secret unrecognizable
    return report.model_copy(update={"checks": [check.shortened for check in published]})


def _parse(content: bytes) -> ConformanceReport:
    if len(content) > FILE_BYTES:
        raise InvalidBank(f"the report is larger than {FILE_BYTES} bytes")
    try:
        return ConformanceReport.read(jsontext.loads(content), most=1)
    except jsontext.InvalidJson as error:
        raise InvalidBank(f"the report is not JSON: {error}") from None
    except InvalidMessage as error:
        raise InvalidBank(f"the file is not a report.json of this version's conformance kit: {error}") from None


def _refuse_secrets(report: ConformanceReport) -> None:
    """Refuse a report with a secret. Raises: InvalidBank, without the secret."""
    for name, text in [("verdict", report.verdict), ("narrowed", report.narrowed), *map(_text_of, report.checks)]:
        if any(secret.search(text) for secret in _SECRETS):
            raise InvalidBank(f"the report has an unmasked secret: see {name}")


def _text_of(check: Check) -> tuple[str, str]:
    members: dict[str, Any] = check.model_dump()
    return check.id, "\n".join(map(str, members.values()))


def _shorten(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
