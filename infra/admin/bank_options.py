"""The options of bank commands that ``banks add`` and ``banks update`` share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from chalicelib.openbanking.protocol.v1_account_messages import BookedOrAvailable
from chalicelib.openbanking.records.bank_record import LONGEST_HISTORY_DAYS, MOST_UNATTENDED_READS
from infra.admin.output import CommandRefused

HistoryDays = Annotated[
    str | None,
    typer.Option(
        metavar="DAYS",
        help=f"How many days back transactions are available, from 1 to {LONGEST_HISTORY_DAYS}; an empty value removes "
        "it.",
    ),
]
UnattendedReads = Annotated[
    int | None,
    typer.Option(
        help="How often a day a TPP may read an account without its PSU, at most "
        f"{MOST_UNATTENDED_READS}; 0 removes the limit. Default: no limit.",
        show_default=False,
    ),
]
Schemes = Annotated[
    list[str] | None,
    typer.Option("--scheme", metavar="NAME", help="A payment scheme it offers; repeatable. Default: all."),
]
Scopes = Annotated[
    list[str] | None, typer.Option("--scope", metavar="NAME", help="A scope it can provide; repeatable. Default: all.")
]
Subject = Annotated[
    str | None,
    typer.Option(
        metavar="DN",
        help="The subject of the client certificate it must present, which an authority of BANK_CA_BUNDLE issued; an "
        "empty value removes it.",
    ),
]
SignatureRequired = Annotated[
    bool | None,
    typer.Option(
        "--signature-required/--signature-optional",
        help="Whether a version 1 bank must sign its calls; version 2 banks always must.",
        show_default=False,
    ),
]
UnsignedAmounts = Annotated[
    bool | None,
    typer.Option(
        "--unsigned-amounts/--signed-amounts",
        help="Whether amounts of its transactions have no sign: the unified API then takes their direction from the "
        "parties. Default: signed.",
        show_default=False,
    ),
]
BalanceType = Annotated[
    BookedOrAvailable | None,
    typer.Option(
        help="Which balance a version 1 bank gives, for the unified API. Default: booked.", show_default=False
    ),
]
CreditLimit = Annotated[
    bool | None,
    typer.Option(
        "--credit-limit-included/--credit-limit-excluded",
        help="Whether its balances include the credit limit, for the unified API.",
        show_default=False,
    ),
]
CreditLimitUnstated = Annotated[
    bool,
    typer.Option("--credit-limit-unstated", help="Use what each balance says about the credit limit: the default."),
]
NoDateTo = Annotated[
    bool | None,
    typer.Option(
        "--no-date-to/--date-to",
        help="Whether a version 2 bank does not accept date_to: the unified API then leaves out later transactions "
        "itself. Default: it accepts date_to.",
        show_default=False,
    ),
]


def read_switches(
    *,
    unsigned_amounts: bool | None,
    balance_type: BookedOrAvailable | None,
    credit_limit: bool | None,
    credit_limit_unstated: bool,
    no_date_to: bool | None,
) -> Mapping[str, Any]:
    """Return the given switches of the unified API, named as in ``NewBank``. Raises: CommandRefused."""
    if credit_limit is not None and credit_limit_unstated:
        raise CommandRefused(
            "use only one of --credit-limit-included, --credit-limit-excluded and --credit-limit-unstated"
        )
    given: dict[str, Any] = {
        "unsigned_amounts": unsigned_amounts,
        "balance_type": balance_type,
        "credit_limit_included": credit_limit,
        "no_date_to": no_date_to,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    return changes | ({"credit_limit_included": None} if credit_limit_unstated else {})


def read_days(text: str) -> int | None:
    """Parse a number of days; ``None`` for an empty text."""
    if text and not (text.isascii() and text.isdigit() and len(text) < 10):
        raise CommandRefused(f"--history-days must be a whole number from 1 to {LONGEST_HISTORY_DAYS}, or empty")
    return int(text) if text else None
