"""The rolling ledger check.

Each run checks some accounts, and each round checks all accounts. Accounts are found by ascending number, and special
accounts by their addresses, so no scan is needed. A run starts with the inconsistent accounts, so the alarm remains
active until the ledger is consistent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import partial
from itertools import accumulate

from chalicelib.cards.ledger.account_record import Account, special_account_key
from chalicelib.cards.payments.address_record import ExternalAddress
from chalicelib.cards.protocol.values import SPECIAL
from chalicelib.cards.reconciliation.account_proof import account_key, latest_first, prove_account, with_row_count
from chalicelib.cards.reconciliation.ledger_proof import LedgerMismatch, SharedMovements, describe_owner, number_of
from chalicelib.cards.reconciliation.progress_record import PROGRESS, ROUND_SECONDS, STRETCHES, Progress
from chalicelib.cards.storage.sequences import SEQUENCES
from chalicelib.foundation import log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Store, StoreError
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.parallel import together
from chalicelib.foundation.requests.engine import Decide, Engine, if_permitted
from chalicelib.foundation.requests.facts import Key

AT_ONCE = 16
"""The number of accounts that are checked in parallel before the progress is saved."""
LOOKED_UP = 50
"""The number of account or address numbers that are looked up in one call."""
MOST_ROWS = 50_000
"""The maximum total number of rows of the accounts that are checked in parallel. With this limit, a run ends in time
even if it reads the rows three times. Larger accounts are checked only with the command line.
"""
MOST_SHARED = 50_000
"""The maximum number of shared movements that a run stores. Further shared movements are not compared."""
COMPARING_SECONDS = 120
"""The additional seconds in which a run compares shared movements after the run's time limit."""


@dataclass
class _Run:
    shared: SharedMovements = field(default_factory=lambda: SharedMovements(MOST_SHARED))
    broken: dict[str, LedgerMismatch] = field(default_factory=dict)
    proved: int = 0


def prove_accounts(until: float, *, clock: Clock, metrics: Metrics, store: Store) -> Progress:
    """Check accounts until ``until`` (monotonic clock) or the end of the round. Returns the progress.

    Raises: StoreError.
    """
    run = _Run()
    progress = Progress.of(store.get(*PROGRESS), clock.time())
    progress = _prove_broken(progress, run, until, clock, store).resume(clock.time())
    was_over = progress.is_over
    while (stretch := progress.stretch) is not None and clock.monotonic() < until:
        progress = prove_next(progress, stretch, run, store)
        saved = _save(progress, store)
        if saved is None:
            return progress
        progress = saved
    for broken in find_missing(store, run.shared, _has_time(until + COMPARING_SECONDS, clock)):
        run.broken.setdefault(broken.owner, broken)
    progress = progress.with_findings(frozenset(run.broken), frozenset())
    _log_findings(progress, run, ended=progress.is_over and not was_over)
    metrics.write(
        {
            "LedgerBreaks": len(progress.broken),
            "ProvedAccounts": run.proved,
            "UncomparedMovements": run.shared.left_out,
            "LedgerProofSeconds": progress.age(clock.time()),
        }
    )
    return _save(progress, store) or progress


def next_proof_due(until: int, *, clock: Clock, store: Store) -> int | None:
    """Return the time of the next ledger check, or ``None`` if that time is after ``until``. Raises: StoreError."""
    now = clock.time()
    progress = Progress.of(store.get(*PROGRESS), now)
    due = progress.began_at + ROUND_SECONDS if progress.is_over and not progress.broken else now
    return due if due <= until else None


def _prove_broken(progress: Progress, run: _Run, until: float, clock: Clock, store: Store) -> Progress:
    """Check the inconsistent accounts again within the remaining time. Raises: StoreError."""
    held = set()
    for owner in progress.broken:
        if clock.monotonic() >= until:
            break
        broken = _prove_alone(owner, until + COMPARING_SECONDS, clock, store)
        if broken is not None:
            run.broken[owner] = broken
        elif _has_time(until + COMPARING_SECONDS, clock)():
            held.add(owner)
            log.info("ledger consistent again", account=owner)
    return progress.with_findings(frozenset(), frozenset(held))


def _prove_alone(owner: str, until: float, clock: Clock, store: Store) -> LedgerMismatch | None:
    """Return the mismatch of a single account, including its shared movements, or ``None`` if the account is
    consistent.

    Raises: StoreError.
    """
    item, shared = store.get(*account_key(owner)), SharedMovements(MOST_SHARED)
    if item is None:
        return LedgerMismatch(owner, "the account no longer exists")
    return _prove_account(item, shared, store) or next(find_missing(store, shared, _has_time(until, clock)), None)


def prove_next(progress: Progress, stretch: str, run: _Run, store: Store) -> Progress:
    """Check the next accounts of the current sequence, or go to the next sequence. Raises: StoreError."""
    last = (store.get(*SEQUENCES) or {}).get(stretch, 0)
    numbers = range(progress.number + 1, min(progress.number + LOOKED_UP, last) + 1)
    if not numbers:
        return progress.next_stretch()
    found = _find_accounts(stretch, numbers, store)
    taken = _first_batch(found)
    accounts = [item for _, item in taken if _is_short(item)]
    failures = together([partial(_prove_account, item, run.shared, store) for item in accounts])
    broken = {failure.owner: failure for failure in failures if failure is not None}
    run.broken |= broken
    run.proved += len(accounts)
    reached = taken[-1][0] if len(taken) < len(found) else numbers[-1]
    return progress.advance(reached, len(accounts)).with_findings(frozenset(broken), frozenset())


def _find_accounts(stretch: str, numbers: Sequence[int], store: Store) -> list[tuple[int, Item]]:
    """Return the accounts that have these numbers, keyed by number.

    A special account is found only by its lowest address number.
    """
    if stretch == STRETCHES[0]:
        items = store.batch_get([Account.key(number) for number in numbers])
        return [(number, item) for number, item in zip(numbers, items, strict=True) if item is not None]
    leading: dict[str, set[int]] = {}
    for address in _read_existing([ExternalAddress.key(number) for number in numbers], store):
        if address["account_type"] == SPECIAL:
            _, key = special_account_key(address["manager_id"], address["account_id"])
            leading.setdefault(key["owner"], set()).add(address["id"])
    there = _read_existing([account_key(owner) for owner in leading], store)
    lowest = [(min(item.get("address_ids") or leading[item["owner"]]), item) for item in there]
    return sorted((each for each in lowest if each[0] in leading[each[1]["owner"]]), key=lambda each: each[0])


def _read_existing(keys: Sequence[Key], store: Store) -> list[Item]:
    return [item for item in (store.batch_get(keys) if keys else ()) if item is not None]


def _is_short(account: Item) -> bool:
    if _row_count(account) > MOST_ROWS:
        log.warning("account not proved", account=account["owner"], rows=_row_count(account))
    return _row_count(account) <= MOST_ROWS


def _prove_account(account: Item, shared: SharedMovements, store: Store) -> LedgerMismatch | None:
    try:
        prove_account(store, account, (), shared)
    except LedgerMismatch as mismatch:
        return mismatch
    except StoreError:
        raise
    except Exception as error:  # a record that cannot be read must not keep the round from the others
        broken = LedgerMismatch(account["owner"], f"the account cannot be read: {type(error).__name__}")
        broken.__cause__ = error
        return broken
    return None


def _has_time(until: float, clock: Clock) -> Callable[[], bool]:
    return lambda: clock.monotonic() < until


def _save(progress: Progress, store: Store) -> Progress | None:
    """Save the progress. Return the progress with its new version, or ``None`` if another run is active."""
    after, put = progress.put()
    saved: Decide[Progress | None] = if_permitted([put], after, lambda _: None)
    return Engine(store).carry_out(saved)


def _log_findings(progress: Progress, run: _Run, *, ended: bool) -> None:
    for owner, broken in sorted(run.broken.items()):
        log.defect("ledger broken", broken, account=owner, row=broken.row, problem=broken.problem)
    if ended:
        log.info("ledger proved", accounts=progress.proved, broken=[describe_owner(owner) for owner in progress.broken])


def _first_batch(accounts: Sequence[tuple[int, Item]]) -> Sequence[tuple[int, Item]]:
    """Return the first accounts, limited to the number that can be checked in parallel. At least one account is
    returned.
    """
    rows = list(accumulate(_row_count(item) for _, item in accounts))
    fitting = sum(total <= MOST_ROWS for total in rows)
    return accounts[: max(min(fitting, AT_ONCE), 1)]


def _row_count(account: Item) -> int:
    return int(with_row_count(account).get("movements") or 0)


def find_missing(store: Store, shared: SharedMovements, has_time: Callable[[], bool]) -> Iterator[LedgerMismatch]:
    """Look up the unread rows of shared movements, latest rows first, within the remaining time. Yield the
    mismatches.
    """
    for owner, halves in shared.missing_halves().items():
        waiting = set(halves)
        for row in latest_first(store, owner):
            if not waiting:
                break
            if not has_time():
                return
            if row["movement"] in waiting:
                waiting.remove(row["movement"])
                try:
                    shared.note(owner, row)
                except LedgerMismatch:
                    half = halves[row["movement"]]
                    other = f"row {number_of(row)} of {describe_owner(owner)}"
                    yield LedgerMismatch(half.owner, f"its entries differ from those of {other}", half.row)
        if waiting:
            half = halves[min(waiting)]
            yield LedgerMismatch(
                half.owner, f"it also moves {describe_owner(owner)}, which has no corresponding row", half.row
            )
