"""Prints the figures of ``docs/figures.md``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import boto3
import requests

from chalicelib.bootstrap import Hub
from chalicelib.foundation.settings import Settings
from infra import command
from infra.deploy import runtime
from infra.local import dynoxide
from infra.local.background import run_stack
from infra.local.dynamodb_engine import EngineFailed
from infra.local.engines import ENGINES
from infra.psu_browser import Browser, approve_consent
from tests.bench import (
    against_bare,
    backlog,
    bulk,
    cards,
    cold_start,
    emulator,
    explorer,
    idle,
    moved_day,
    pages,
    recorded,
    reports,
    sdk_imports,
)
from tests.bench.against_bare import Make, bare
from tests.bench.authorizations import Authorizations
from tests.bench.bare_authorization import BareAuthorization
from tests.bench.bare_transfer import BareTransfer
from tests.bench.measures import percentiles
from tests.bench.sampled import shares
from tests.bench.scene import scene
from tests.bench.transfers import Transfers
from tests.bench.works import MEASURED
from tests.kit.logs import silent

_GOALS = "relayed read warm: 2.2 and 0.8"
_SHARED = ("relayed read: accounts", "refresh")
"""Requests whose processor time is divided into parts."""
_LATENCY_GOALS = {"GET /tpp/consent": 2, "GET /tpp/accounts": 6, "refresh": 5}
"""The medians to be reached on dynoxide, in milliseconds."""


def _requests(*, all_of_them: bool = False) -> None:
    """The requests of ``MEASURED`` by the floor, the boto3 script and the service, warm and cold; others only warm."""
    print(f"{'processor time':56}   floor, boto3 ÷ floor, Causeway ÷ floor, Causeway ÷ boto3   (goals: {_GOALS})")
    with scene() as found, cold_start.unpacked() as packages:
        for title in found.works.all if all_of_them else MEASURED:
            with silent():
                request = recorded.record(found.stub, title, found.works.all[title])
                warm = recorded.measure(request)
                parts = shares(request.request, 500) if title in _SHARED else {}
                cold = cold_start.measure(packages, request) if title in MEASURED else None
            print(f"{title:50} warm   {warm}")
            if cold:
                print(f"{title:50} cold   {cold}")
            for part, spent in parts.items():
                print(f"{title:50} {part:35} {spent:6.3f} ms {spent / sum(parts.values()):5.0%}")


def _bulk() -> None:
    for version in (1, 2):
        what = f"bulk order of 1000 payments, version {version}, read and validated"
        print(f"{what}      {bulk.ratio(version):.1f} times json.loads   (goal: {bulk.GOAL})")


def _sdk_imports() -> None:
    for statement in sdk_imports.STATEMENTS:
        print(f"{statement}   {sdk_imports.seconds(statement):.3f} s   (goal: {sdk_imports.GOAL} s)")


def _pages() -> None:
    with silent():
        found = dict(pages.measured())
    for place, seconds in found.items():
        print(f"{place:50} {seconds * 1000:5.1f} ms   (goal: {pages.GOAL * 1000:.0f} ms)")


def _explorer() -> None:
    try:
        seconds = explorer.seconds_of_an_execute()
    except RuntimeError as error:
        print(f"the API screens are not measured: {error}")
        return
    print(f"Execute on an API screen, the page's own work   {seconds:.3f} s   (goal: {explorer.GOAL} s)")


def _cards() -> None:
    for action, goal in cards.GOALS.items():
        for what, share in cards.SHARES.items():
            with silent():
                measured = cards.ratio(action, share)
            aim = f"   (goal: {goal})" if what == cards.COUNTED else ""
            print(f"{action:12} {what:40} {measured:5.1f} times json.loads + json.dumps{aim}")


def _on_dynamodb_local() -> None:
    try:
        with against_bare.engine() as (hub, credentials):
            paying, spending = Transfers(hub, credentials), Authorizations(hub, credentials)
            _by_clients("transfers", "accounts", paying, paying.address, bare(BareTransfer, hub))
            _by_clients("authorizations", "cards", spending, spending.card, bare(BareAuthorization, hub))
            _reports(hub, credentials)
    except EngineFailed as error:
        print(f"transfers, authorizations and reports are not measured: {error}")


def _by_clients(what: str, of: str, ours: Make, place: Callable[[], int], script: Make) -> None:
    with silent():
        places = [place() for _ in range(against_bare.MANY)]
    for count, clients in itertools.product((1, against_bare.MANY), against_bare.CLIENTS):
        with silent():
            measured = against_bare.speed(ours, script, places[:count], clients)
        print(f"{what} by {clients:2} clients from {count:2} {of}   {measured}   (goal: {against_bare.GOAL})")


def _reports(hub: Hub, credentials: Mapping[str, str]) -> None:
    with silent():
        pages = reports.compared(reports.Reports(hub, credentials))
    for name, each in pages.items():
        for rows, page in zip(reports.SIZES, each, strict=True):
            print(f"{name:29} a page of {reports.PAGE} from {rows:6} rows   {page}")


def _latency(engine: str) -> None:
    with run_stack(engine=engine) as stack, requests.Session() as session:
        session.trust_env = False
        base, client = stack["base_url"], stack["client"]
        headers = {"X-Api-Key": client["client_id"]}
        asked = {"bic": "DEMOGB21", "scopes": ["account.list"]}
        url = session.post(f"{base}/tpp/authorize", json=asked, headers=headers).json()["redirect_url"]
        code = approve_consent(Browser(client["callback_url"], lambda *_: None), url).split("code=")[1].split("&")[0]
        tokens = session.post(f"{base}/tpp/token", json={"code": code}, headers=headers).json()
        bearer = headers | {"Authorization": f"Bearer {tokens['access_token']}"}

        def get(path: str) -> None:
            session.get(base + path, headers=bearer).raise_for_status()

        def refresh() -> None:
            asked = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
            answer = session.post(f"{base}/tpp/token", json=asked, headers=headers)
            answer.raise_for_status()
            tokens.update(answer.json())

        calls: dict[str, tuple[Callable[[], None], str]] = {
            "GET /health": (lambda: get("/health"), "no storage call"),
            "GET /tpp/consent": (lambda: get("/tpp/consent"), "one storage call"),
            "GET /tpp/accounts": (lambda: get("/tpp/accounts"), "relayed to a demonstration bank in the same process"),
            "refresh": (refresh, "a read and a transaction"),
            **_bare_reads(stack),
        }
        for name, (call, what) in calls.items():
            percentiles(call, 30)
            p50, p99 = percentiles(call, 500)
            goal = f"   (goal: {_LATENCY_GOALS[name]} ms)" if engine == "dynoxide" and name in _LATENCY_GOALS else ""
            print(f"{engine:9} {name:17} p50 {p50:5.1f} ms   p99 {p99:5.1f} ms   {what}{goal}")


def _bare_reads(stack: Mapping[str, Any]) -> dict[str, tuple[Callable[[], None], str]]:
    """Calls of boto3 against the stack's own engine, whose times tell how fast this machine is now."""
    environment = stack["environment"]
    address = environment.get("AWS_ENDPOINT_URL_DYNAMODB") or environment["AWS_ENDPOINT_URL"]
    credentials = {name.lower(): environment[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    client = boto3.client(
        "dynamodb", endpoint_url=address, region_name=environment["AWS_DEFAULT_REGION"], **credentials
    )
    table = f"{Settings.from_environment(environment).prefix}-consents"
    key = {"consent_id": {"S": "absent"}, "part": {"S": "consent"}}
    keys = [key | {"part": {"S": part}} for part in ("consent", "access", "refresh")]
    return {
        "bare GetItem": (lambda: client.get_item(TableName=table, Key=key), "boto3 alone, of an absent item"),
        "bare BatchGetItem": (
            lambda: client.batch_get_item(RequestItems={table: {"Keys": keys}}),
            "boto3 alone, of three absent items",
        ),
    }


def _idle() -> None:
    if not Path("/proc/self/stat").exists():
        print("an idle stack is not measured: this is not Linux")
        return
    with run_stack() as stack:
        print(f"an idle stack, all processes     {idle.share_of_a_core(stack['pid']):.2%} of a core   (goal: 1 %)")


def _backlog(count: int) -> None:
    with silent():
        measured = backlog.drained(count)
    print(f"a backlog of {count} events for one receiver drains at {measured}   (goal: {backlog.GOAL})")


def _emulator() -> None:
    with silent():
        paces = list(emulator.measured())
    for what, pace, goal in paces:
        print(f"{what} by {emulator.CLIENTS} clients on the built-in emulator   {pace:5.1f} a second   (goal: {goal})")


def _moved_day() -> None:
    with silent():
        measured = moved_day.move_a_day()
    what = f"clock advance 1d, {moved_day.DELIVERIES} deliveries to {moved_day.BANKS} banks that are gone"
    print(f"{what}   {measured}   (goal: {moved_day.GOAL} s)")


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = command.parser("tests.bench", __doc__, runtime.INTERPRETER)
    parser.add_argument("--latency", metavar="ENGINE", choices=ENGINES, help="measure only the latency on this engine")
    parser.add_argument("--moved-day", action="store_true", help="measure only a move of the clock by a day")
    parser.add_argument("--emulator", action="store_true", help="measure only cards and authorizations on the emulator")
    parser.add_argument("--requests", action="store_true", help="measure only the requests of infra/capacity.csv")
    parser.add_argument("--backlog", metavar="EVENTS", type=int, help="measure only how a backlog of events drains")
    options = parser.parse_args(arguments)
    if options.latency:
        _latency(options.latency)
        return
    if options.moved_day:
        _moved_day()
        return
    if options.backlog:
        _backlog(options.backlog)
        return
    if options.requests:
        _requests(all_of_them=True)
        return
    if options.emulator:
        _emulator()
        return
    _requests()
    _bulk()
    _cards()
    _sdk_imports()
    _pages()
    _explorer()
    _on_dynamodb_local()
    _emulator()
    _idle()
    _backlog(backlog.EVENTS)
    _moved_day()
    _latency(ENGINES[0])
    if dynoxide.installed_version() == dynoxide.VERSION:
        _latency("dynoxide")
    else:
        print("latency on dynoxide is not measured: `make install-dynoxide` installs it")


if __name__ == "__main__":
    command.run(main)
