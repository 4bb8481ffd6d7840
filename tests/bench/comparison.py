"""Measures the processor time of a service request, compared with recorded calls made by the floor and the boto3
script.

The service's calls are recorded once. Then the service, the floor and the boto3 script run alternately against one
server, which returns the recorded responses. The server's processor time is not counted.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from chalicelib import bootstrap
from infra.capacity import PAGE, read_figures
from infra.local.resources import create_resources
from tests.bench.boto3_script import Boto3Script
from tests.bench.environment import child, environment
from tests.bench.floor import Floor
from tests.bench.measured_requests import MeasuredRequests, Request, start_service

WARM_UP = 2
"""The number of requests before the recorded request. These requests fill caches and reserve blocks of identifiers."""
_TRIES = 3
_OF_HTTP = ("Host", "Connection", "Content-Length", "Accept-Encoding")
"""Headers that the HTTP client sets. The service closes the connection after it sends a payment."""
_OF_TIME = ("X-Amz-Date", "Authorization", "amz-sdk-invocation-id", "amz-sdk-request")
_MEASUREMENTS = re.compile(r'"TableName":"[\w-]*-statistics"')
_RATIOS = ((1, 0), (2, 0), (2, 1))


@dataclass(frozen=True)
class Triple:
    """Median times of the floor, the boto3 script and the service in milliseconds, and the median time ratios."""

    floor: float
    script: float
    ours: float
    script_to_floor: float
    ours_to_floor: float
    ours_to_script: float

    @classmethod
    def of(cls, rounds: Sequence[Sequence[float]]) -> Triple:
        medians = (statistics.median(column) * 1000 for column in zip(*rounds, strict=True))
        ratios = (statistics.median(each[over] / each[under] for each in rounds) for over, under in _RATIOS)
        return cls(*medians, *ratios)

    def __str__(self) -> str:
        ratios = f"{self.script_to_floor:5.2f} {self.ours_to_floor:5.2f} {self.ours_to_script:5.2f}"
        return f"{self.floor:7.2f} ms {ratios}   (script {self.script:.2f} ms, Causeway {self.ours:.2f} ms)"


@dataclass(frozen=True)
class Recorded:
    """A request and its recorded AWS and bank calls, in the format of the floor and the boto3 script."""

    request: Request
    calls: list[dict[str, Any]]

    def measure(self, rounds: int = 15, repeats: int = 40) -> Triple:
        with contextlib.closing(Floor(self.calls)) as floor, contextlib.closing(Boto3Script(self.calls)) as script:
            sides = (floor, script, self.request)
            for side in sides:
                processor_time(side, repeats)
            return Triple.of([[processor_time(side, repeats) for side in sides] for _ in range(rounds)])


class Recorder:
    """Runs requests in this process and records their calls at the server ``aws``, which then replays the responses."""

    def __init__(self, aws: str, bank: str, requests: MeasuredRequests) -> None:
        self._aws, self._bank = aws, bank
        self.requests = requests.all

    def record(self, title: str) -> Recorded:
        """Record the calls of a request.

        Raises: AssertionError, if the calls differ from the calls of the scripts or from the capacity page.
        """
        work = read_figures(PAGE.read_text(encoding="utf-8")).work[title]
        self._ask("record")
        for _ in range(WARM_UP):
            self.requests[title]()()
        for _ in range(_TRIES):  # a cache may be a minute old
            request = self.requests[title]()
            self._ask("record")
            request()
            exchanges = [each for each in self._ask("exchanges") if not _MEASUREMENTS.search(each["body"])]
            if len(exchanges) == work.calls + work.queue + work.outgoing:
                break
        else:
            raise AssertionError(f"{title}: {len(exchanges)} calls")
        calls = [self._call(each) for each in exchanges]
        self._ask("replay")
        for make in (Floor, Boto3Script):
            self._compare(title, make, calls, exchanges)
        return Recorded(request, calls)

    def _compare(self, title: str, make: type[Floor | Boto3Script], calls: list[Any], exchanges: list[Any]) -> None:
        with contextlib.closing(make(calls)) as script:
            script()
        for expected, found in zip(exchanges, self._ask("exchanges"), strict=True):
            if _content(expected) != _content(found):
                raise AssertionError(f"{title}: {make.__name__} sends {found} instead of {expected}")

    def _ask(self, what: str) -> Any:
        """Send the command ``record``, ``replay`` or ``exchanges`` to the server; ``exchanges`` returns and removes the
        records.
        """
        with contextlib.closing(http.client.HTTPConnection(self._aws.partition("//")[2])) as connection:
            connection.request("POST", f"/-/{what}")
            return json.loads(connection.getresponse().read() or b"null")

    def _call(self, exchange: Any) -> dict[str, Any]:
        headers = {name: value for name, value in exchange["headers"].items() if name not in (*_OF_HTTP, *_OF_TIME)}
        if "X-Amz-Target" not in headers:
            return {"url": self._bank + exchange["path"], "headers": headers, "text": exchange["body"]}
        service = exchange["headers"]["Authorization"].split("/")[3]
        members = json.loads(exchange["body"])
        return {"url": f"{self._aws}/", "service": service, "headers": headers, "members": members}


@contextlib.contextmanager
def recorder() -> Iterator[Recorder]:
    with child("infra.local.emulator") as emulator, child("tests.bench.stub_server", emulator) as ports:
        aws, bank = (f"http://127.0.0.1:{port}" for port in ports.split())
        with environment(AWS_ENDPOINT_URL=aws):
            create_resources(emulated=True, dynamodb_apart=False)
            causeway = start_service(bank)
            try:
                yield Recorder(aws, bank, MeasuredRequests(causeway, f"{bank}/events"))
            finally:
                bootstrap.use(None)


def _content(exchange: Any) -> Sequence[Any]:
    headers, body = exchange["headers"], exchange["body"]
    if "X-Amz-Target" in headers:
        return headers["Host"], headers["X-Amz-Target"], json.loads(body)
    return headers["Host"], exchange["path"], body, {n: v for n, v in headers.items() if n not in _OF_HTTP}


def processor_time(call: Callable[[], object], times: int) -> float:
    started = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - started) / times
