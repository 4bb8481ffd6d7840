"""``python -m tests.bench``: prints every figure of the README."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Iterator

import requests

from chalicelib.openbanking.protocol.scopes import Version
from infra.local.background import started
from infra.local.dynamodb_local import EngineFailed
from infra.tour.browser import Browser, approve
from tests.bench import bulk, cards, transfers
from tests.bench.bare import Bare
from tests.bench.measures import cold, percentiles, warm
from tests.bench.relayed import Relayed
from tests.bench.scene import scene

VERSIONS: tuple[Version, ...] = (1, 2)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """The service's log lines are made, but go nowhere."""
    kept = os.dup(1)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)


def _against_the_bare_script() -> None:
    with scene():
        bare, ours = Bare(), Relayed()
        with _silent():
            per_request = warm(bare, ours)
            from_nothing = cold()
    print(f"GET /tpp/accounts, processor time against the bare script   {per_request}   (goal: 1.30)")
    print(f"cold first answer, processor time against the bare script   {from_nothing}   (goal: 1.60)")


def _bulk() -> None:
    for version in VERSIONS:
        what = f"bulk order of 1000 payments, version {version}, read and validated"
        print(f"{what}      {bulk.ratio(version):.1f} times json.loads   (goal: 8)")


def _cards() -> None:
    for action, goal in cards.GOALS.items():
        for what, share in cards.SHARES.items():
            with _silent():
                measured = cards.ratio(action, share)
            aim = f"   (goal: {goal})" if what == cards.COUNTED else ""
            print(f"{action:12} {what:40} {measured:5.1f} times json.loads + json.dumps{aim}")


def _transfers() -> None:
    try:
        with transfers.engine() as (ours, bare):
            with _silent():
                addresses = [ours.address() for _ in range(transfers.MANY_ACCOUNTS)]
            for accounts, clients in itertools.product((1, transfers.MANY_ACCOUNTS), transfers.CLIENTS):
                with _silent():
                    measured = transfers.speed(ours, bare, addresses[:accounts], clients)
                what = f"transfers by {clients:2} clients from {accounts:2} accounts"
                print(f"{what}   {measured}   (goal: {transfers.GOAL})")
    except EngineFailed as error:
        print(f"transfers are not measured: {error}")


def _latency() -> None:
    with started() as stack, requests.Session() as session:
        session.trust_env = False
        base, client = stack["base_url"], stack["client"]
        headers = {"X-Api-Key": client["client_id"]}
        asked = {"bic": "DEMOGB21", "scopes": ["account.list"]}
        url = session.post(f"{base}/tpp/authorize", json=asked, headers=headers).json()["redirect_url"]
        code = approve(Browser(client["callback_url"], lambda *_: None), url).split("code=")[1].split("&")[0]
        tokens = session.post(f"{base}/tpp/token", json={"code": code}, headers=headers).json()
        headers |= {"Authorization": f"Bearer {tokens['access_token']}"}
        for path, what in (
            ("/health", "no storage call"),
            ("/tpp/consent", "one storage call"),
            ("/tpp/accounts", "relayed to a demonstration bank in the same process"),
        ):

            def call(path: str = path) -> None:
                session.get(base + path, headers=headers).raise_for_status()

            percentiles(call, 30)
            p50, p99 = percentiles(call, 500)
            print(f"GET {path:14} p50 {p50:5.1f} ms   p99 {p99:5.1f} ms   {what}")


if __name__ == "__main__":
    _against_the_bare_script()
    _bulk()
    _cards()
    _transfers()
    _latency()
