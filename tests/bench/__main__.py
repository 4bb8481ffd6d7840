"""Print the figures of ``docs/figures.md``."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import requests

from infra import command
from infra.deploy import runtime
from infra.local import dynoxide
from infra.local.background import run_stack
from infra.local.dynamodb_engine import EngineFailed
from infra.local.engines import ENGINES
from infra.psu_browser import Browser, approve_consent
from tests.bench import cold_start, json_overhead, throughput, unified_overhead
from tests.bench.comparison import recorder
from tests.bench.measured_requests import MEASURED
from tests.cards.issuer import Issuer
from tests.kit.logs import silent

_GOALS = "relayed read warm: 2.2 and 0.8"
_LATENCY_GOALS = {"GET /tpp/consent": 2, "GET /tpp/accounts": 6, "refresh": 5}
"""The target median latencies on dynoxide, in milliseconds."""


def _print_requests(*, every: bool = False) -> None:
    """Print the processor time of requests, compared with the floor (a minimal program) and the boto3 script.

    Cold starts are measured only for the titles in ``MEASURED``.
    """
    print(f"{'processor time':56}   floor, boto3 ÷ floor, Causeway ÷ floor, Causeway ÷ boto3   (goals: {_GOALS})")
    with recorder() as recording, cold_start.unpacked() as packages:
        for title in recording.requests if every else MEASURED:
            with silent():
                request = recording.record(title)
                warm = request.measure()
                cold = cold_start.measure(packages, request) if title in MEASURED else None
            print(f"{title:50} warm   {warm}")
            if cold:
                print(f"{title:50} cold   {cold}")


def _print_bulk_orders() -> None:
    import app  # noqa: F401 - the function's own settings of the garbage collector

    for version in (1, 2):
        found = json_overhead.ratio(json_overhead.bulk_order(version), (3, 1), json_overhead.BULK_GOAL)
        title = f"bulk order of {json_overhead.PAYMENTS} payments, version {version}, read and validated"
        print(f"{title}      {found:.1f} times json.loads   (goal: {json_overhead.BULK_GOAL})")


def _print_unified_reads() -> None:
    with silent(), unified_overhead.service() as relay:
        found = {
            (read, version): json_overhead.ratio(unified_overhead.sides(relay, version, read), (3, 3), goal)
            for read, goal in unified_overhead.GOALS.items()
            for version in (1, 2)
        }
    for (read, version), times in found.items():
        title = f"unified read of {unified_overhead.TITLES[read]}, version {version}"
        print(f"{title:50} {times:.2f} times the native read   (goal: {unified_overhead.GOALS[read]})")


def _print_actions(issuer: Issuer) -> None:
    for action, goal in json_overhead.ACTION_GOALS.items():
        with silent(), json_overhead.card_action(issuer, action) as sides:
            found = json_overhead.ratio(sides, (80, 20), goal)
        print(f"{action:12} without storage and decision {found:5.1f} times json.loads + json.dumps   (goal: {goal})")


def _print_throughput(issuer: Issuer) -> None:
    for title, work in throughput.WORKS.items():
        speeds = throughput.speeds(issuer, work)
        while True:
            with silent():
                found = next(speeds, None)
            if found is None:
                break
            count, clients, speed = found
            goal = f"   (goal: {throughput.GOAL})" if count > 1 else "   (goal: 32 clients reach half the rate of 8)"
            print(f"{title} by {clients:2} clients, {count:2} {work.records}   {speed}{goal}")


def _print_cards() -> None:
    try:
        with throughput.service_on_dynamodb_local() as issuer:
            _print_actions(issuer)
            _print_throughput(issuer)
    except EngineFailed as error:
        print(f"the card API is not measured: {error}")


def _print_latency(engine: str) -> None:
    with run_stack(engine=engine) as stack, requests.Session() as session:
        session.trust_env = False
        for name, (call, storage) in _calls(stack, session).items():
            _percentiles(call, 30)
            p50, p99 = _percentiles(call, 500)
            goal = f"   (goal: {_LATENCY_GOALS[name]} ms)" if engine == "dynoxide" and name in _LATENCY_GOALS else ""
            print(f"{engine:9} {name:17} p50 {p50:5.1f} ms   p99 {p99:5.1f} ms   {storage}{goal}")


def _calls(stack: dict[str, Any], session: requests.Session) -> dict[str, tuple[Callable[[], None], str]]:
    """Return functions that send TPP requests with a consent. Each function has a description of its storage calls."""
    base, client = stack["base_url"], stack["client"]
    headers = {"X-Api-Key": client["client_id"]}

    def post(path: str, body: Any) -> Any:
        response = session.post(base + path, json=body, headers=headers)
        response.raise_for_status()
        return response.json()

    url = post("/tpp/authorize", {"bic": "DEMOGB21", "scopes": ["account.list"]})["redirect_url"]
    code = approve_consent(Browser(client["callback_url"], lambda *_: None), url).split("code=")[1].split("&")[0]
    tokens = post("/tpp/token", {"code": code})
    bearer = headers | {"Authorization": f"Bearer {tokens['access_token']}"}

    def get(path: str) -> None:
        session.get(base + path, headers=bearer).raise_for_status()

    def refresh() -> None:
        tokens.update(post("/tpp/token", {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}))

    return {
        "GET /health": (lambda: get("/health"), "no storage call"),
        "GET /tpp/consent": (lambda: get("/tpp/consent"), "one storage call"),
        "GET /tpp/accounts": (lambda: get("/tpp/accounts"), "relayed to a demonstration bank in the same process"),
        "refresh": (refresh, "a read and a transaction"),
    }


def _percentiles(call: Callable[[], None], times: int) -> tuple[float, float]:
    """Return the 50th and the 99th percentile of a call's duration, in milliseconds."""
    durations = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        durations.append((time.perf_counter() - started) * 1000)
    cuts = statistics.quantiles(durations, n=100)
    return cuts[49], cuts[98]


def main(arguments: list[str] | None = None) -> None:
    parser = command.parser("tests.bench", __doc__, runtime.INTERPRETER)
    parser.add_argument("--latency", metavar="ENGINE", choices=ENGINES, help="measure only the latency on this engine")
    parser.add_argument("--requests", action="store_true", help="measure only the requests of infra/capacity.csv")
    parser.add_argument("--cards", action="store_true", help="measure only the card API on DynamoDB Local")
    options = parser.parse_args(arguments)
    if options.latency:
        _print_latency(options.latency)
    elif options.requests:
        _print_requests(every=True)
    elif options.cards:
        _print_cards()
    else:
        _print_requests()
        _print_bulk_orders()
        _print_unified_reads()
        _print_cards()
        _print_latency(ENGINES[0])
        if dynoxide.installed_version() == dynoxide.VERSION:
            _print_latency("dynoxide")
        else:
            print("latency on dynoxide is not measured: `make install-dynoxide` installs it")


if __name__ == "__main__":
    command.run(main)
