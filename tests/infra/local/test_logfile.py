"""The log file of the local stack: lines, permissions and rotation."""

import errno
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib.foundation import log
from infra.local import logfile
from tests.kit.logs import Lines


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = logfile.log_path(tmp_path / "local" / "stack.json")
    before = list(log.logger().handlers)
    logfile.attach(path)
    yield path
    for handler in set(log.logger().handlers) - set(before):
        log.logger().removeHandler(handler)
        handler.close()


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in logfile.read_lines(path)]


def handler_of(path: Path) -> logging.Handler:
    return logfile.LogFile(path, logging.Formatter("%(message)s"))


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("name", logging.INFO, "", 0, text, None, None)


def test_the_lines_of_the_log_file_equal_standard_output_and_contain_the_function_name(
    path: Path, lines: Lines
) -> None:
    log.bind(request_id="one")
    log.info("first", number=1)
    with logfile.log_as("deliver"):
        log.info("second", text="a\nb")
    log.info("third")

    assert path.name == "stack.log.jsonl"
    kept = written(path)
    assert [line.pop("function") for line in kept] == ["api", "deliver", "api"]
    assert kept == lines.all()
    assert kept[0]["request_id"] == "one"


def test_the_log_file_has_mode_0600(path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_every_start_appends_to_the_log_file(tmp_path: Path) -> None:
    path = tmp_path / "stack.log.jsonl"
    for text in ("first", "second", "third"):
        handler = handler_of(path)
        handler.emit(record(text))
        handler.close()

    assert list(logfile.read_lines(path)) == ["first\n", "second\n", "third\n"]
    assert list(tmp_path.iterdir()) == [path]


def test_an_incomplete_last_line_is_terminated_before_the_next_start_appends(tmp_path: Path) -> None:
    path = tmp_path / "stack.log.jsonl"
    path.write_text('first\n{"message": "sec')
    handler = handler_of(path)
    handler.emit(record("third"))
    handler.close()

    assert list(logfile.read_lines(path)) == ["first\n", '{"message": "sec\n', "third\n"]


def test_log_rotation_counts_the_log_size_of_earlier_stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "LARGEST", 12)
    path = tmp_path / "stack.log.jsonl"
    for number in range(3):
        handler = handler_of(path)
        handler.emit(record(f"no. {number}"))
        handler.close()

    assert path.read_text() == "no. 2\n"
    assert list(logfile.read_lines(path)) == ["no. 0\n", "no. 1\n", "no. 2\n"]


def test_log_rotation_limits_the_size_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfile, "LARGEST", 12)
    path = tmp_path / "stack.log.jsonl"
    handler = handler_of(path)
    for number in range(7):
        handler.emit(record(f"no. {number}"))
    handler.close()

    assert list(logfile.read_lines(path)) == ["no. 4\n", "no. 5\n", "no. 6\n"]


def test_a_missing_log_file_has_no_lines(tmp_path: Path) -> None:
    assert list(logfile.read_lines(tmp_path / "stack.log.jsonl")) == []


class FullDisk:
    def write(self, line: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_log_file_on_a_full_disk_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "stack.log.jsonl"
    handler = logfile.LogFile(path, logging.Formatter("%(message)s"))
    handler.stream.close()
    handler.stream = FullDisk()  # type: ignore[assignment]
    for text in ("first", "second"):
        handler.emit(record(text))

    assert capsys.readouterr().err == (
        f"causeway: {path} cannot be written (No space left on device): lines are missing.\n"
    )
