"""The terminal log has one line per request and shows warnings and errors, but no other lines."""

import io
import logging
import re
from collections.abc import Iterator

import pytest
from botocore.exceptions import ConnectionClosedError
from rich.console import Console

from chalicelib.foundation import log, metrics
from infra.local import logfile, terminal_log
from infra.local.terminal_log import TerminalLog, wants_text

REQUEST = {"method": "GET", "route": "/tpp/accounts", "status": 200, "milliseconds": 20.25}


@pytest.fixture
def shown() -> Iterator[io.StringIO]:
    written = io.StringIO()
    console = Console(
        file=written,
        soft_wrap=True,
        highlight=False,
        width=200,
        force_terminal=True,
        color_system="standard",
        no_color=False,
    )
    handler = TerminalLog(console)
    logger = logging.getLogger(log.logger().name)
    logger.addHandler(handler)
    log.bind(request_id="7c1e")
    yield written
    log.clear()
    logger.removeHandler(handler)


def plain(written: io.StringIO) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", written.getvalue())


def test_the_terminal_log_shows_a_request_in_one_line_with_the_durations_of_hub_and_bank(shown: io.StringIO) -> None:
    log.info("bank called", bic="ALPHGB21", webhook="/accounts", status=200, milliseconds=12.0)
    log.info("request", **REQUEST)

    (line,) = plain(shown).splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d  GET    /tpp/accounts +200  hub    8\.2 ms  bank   12\.0 ms  7c1e", line)


def test_the_terminal_log_shows_the_duration_of_a_bank_call_only_in_the_line_of_its_request(shown: io.StringIO) -> None:
    log.info("bank called", bic="ALPHGB21", webhook="/accounts", status=200, milliseconds=12.0)
    log.info("request", **REQUEST)
    log.info("request", **REQUEST)

    assert [line.count("bank") for line in plain(shown).splitlines()] == [1, 0]


def test_the_terminal_log_does_not_add_bank_calls_of_a_worker_to_requests(shown: io.StringIO) -> None:
    with logfile.log_as("deliver"):
        log.info("bank called", bic="ALPHGB21", webhook="/accounts", status=200, milliseconds=12.0)
    log.info("request", **REQUEST)

    assert "bank" not in plain(shown)


def test_the_terminal_log_omits_log_lines_of_schedules_and_of_the_audit(shown: io.StringIO) -> None:
    log.info("swept", queued=0)
    log.audit("card data revealed", card_id=7)

    assert plain(shown) == ""


def test_the_terminal_log_shows_a_warning_in_colour_with_its_members(shown: io.StringIO) -> None:
    log.warning("malformed bank response", webhook="/accounts", problems=2)

    assert "malformed bank response  webhook=/accounts  problems=2  7c1e" in plain(shown)
    assert "\x1b[33m" in shown.getvalue()


def test_the_terminal_log_shows_an_exception_with_code_lines_and_without_the_message(shown: io.StringIO) -> None:
    secret = "4111-2222"
    try:
        int(secret)
    except ValueError:
        log.exception("unhandled", route="/tpp/accounts")

    assert "unhandled  route=/tpp/accounts" in plain(shown)
    assert "ValueError" in plain(shown)
    assert secret not in plain(shown)


@pytest.mark.parametrize(
    ("chosen", "is_terminal", "text"),
    [("", True, True), ("", False, False), ("json", True, False), ("text", False, True)],
)
def test_the_log_on_a_terminal_is_text_unless_log_format_is_set(chosen: str, is_terminal: bool, text: bool) -> None:
    assert wants_text(chosen, is_terminal=is_terminal) is text


def test_an_unknown_log_format_is_refused() -> None:
    with pytest.raises(ValueError, match="LOG_FORMAT must be json or text, not yaml"):
        wants_text("yaml", is_terminal=True)


def test_the_log_on_a_terminal_contains_no_json_lines_and_no_metrics(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger(log.logger().name)
    handlers = list(logger.handlers)
    monkeypatch.setattr(metrics, "write_line", metrics.write_line)
    try:
        terminal_log.attach(lambda _: False)
        log.info("swept", queued=0)
        metrics.Metrics("local").write({"Calls": 1})
        log.info("request", **REQUEST)
    finally:
        logger.handlers[:] = handlers

    (line,) = capsys.readouterr().out.splitlines()
    assert "GET" in line
    assert "{" not in line


@pytest.mark.parametrize(
    ("cause", "ends_after", "lines"),
    [
        (ConnectionClosedError(endpoint_url="http://127.0.0.1:1"), 0.2, 0),
        (ConnectionClosedError(endpoint_url="http://127.0.0.1:1"), None, 1),
        (ValueError("a mistake"), 0, 0),
        (ValueError("a mistake"), 0.2, 1),
    ],
)
def test_a_failure_that_occurs_because_an_engine_was_stopped_is_not_logged(
    cause: Exception, ends_after: float | None, lines: int
) -> None:
    """Connections fail before the engine ends. Afterwards, the stack prints one sentence with the reason."""
    written = io.StringIO()
    handler = TerminalLog(
        Console(file=written, width=200), lambda seconds: ends_after is not None and ends_after <= seconds
    )
    logger = logging.getLogger(log.logger().name)
    logger.addHandler(handler)
    problem = RuntimeError("storage did not respond")
    problem.__cause__ = cause
    logger.error("card month not played", exc_info=problem)
    logger.removeHandler(handler)

    assert written.getvalue().count("card month not played") == lines
    assert bool(written.getvalue()) is bool(lines)


def test_only_the_first_of_several_connection_failures_waits_for_the_engine_to_stop() -> None:
    now, waits = 100.0, list[float]()

    def has_failed(seconds: float) -> bool:
        waits.append(seconds)
        return False

    handler = TerminalLog(Console(file=io.StringIO()), has_failed, clock=lambda: now)

    def fail() -> None:
        error = ConnectionClosedError(endpoint_url="http://127.0.0.1:1")
        record = logging.LogRecord("causeway", logging.ERROR, "", 0, "failed", (), (type(error), error, None))
        handler.handle(record)

    for _ in range(4):
        fail()
    first = [*waits]
    now += terminal_log.PAUSE_SECONDS
    fail()

    assert (first, waits[4:]) == ([terminal_log.END_SECONDS, 0, 0, 0], [terminal_log.END_SECONDS])
