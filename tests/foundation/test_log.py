"""Each log line is a JSON object with the request id, and contains no values quoted by exceptions."""

import threading

from chalicelib.foundation import log
from tests.kit.logs import Lines


def test_a_log_line_is_one_json_object_with_the_logged_members(lines: Lines) -> None:
    log.info("bank answered", webhook="/accounts", milliseconds=12)
    log.warning("malformed bank response", problems=["name is required"])

    first, second = lines.all()
    assert first["level"] == "INFO"
    assert first["message"] == "bank answered"
    assert first["service"] == "causeway"
    assert (first["webhook"], first["milliseconds"]) == ("/accounts", 12)
    assert (second["level"], second["problems"]) == ("WARNING", ["name is required"])
    assert first["timestamp"].endswith("+0000")


def test_every_log_line_of_a_request_has_the_request_id(lines: Lines) -> None:
    log.bind(request_id="99391c7e-ad88-49ec-a2ad-99ddcb1f7721")
    log.info("first")
    log.info("second")
    log.clear()
    log.info("third")

    ids = [line.get("request_id") for line in lines.all()]
    assert ids == ["99391c7e-ad88-49ec-a2ad-99ddcb1f7721"] * 2 + [None]


def test_the_log_provides_the_current_request_id() -> None:
    assert log.request_id() is None
    log.bind(request_id="99391c7e-ad88-49ec-a2ad-99ddcb1f7721")
    assert log.request_id() == "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"
    log.clear()
    assert log.request_id() is None


def test_requests_in_parallel_threads_log_separate_request_ids(lines: Lines) -> None:
    together = threading.Barrier(4)

    def request(number: int) -> None:
        log.bind(request_id=str(number))
        together.wait()
        log.info("line", number=str(number))

    threads = [threading.Thread(target=request, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(lines.all()) == 4
    assert all(line["request_id"] == line["number"] for line in lines.all())


def test_a_logged_value_with_a_line_break_is_written_in_one_log_line(lines: Lines) -> None:
    log.info("event", value='a\nb"}\r{')

    (line,) = lines.all()
    assert line["value"] == 'a\nb"}\r{'


def test_an_exception_is_logged_by_type_and_code_location_without_quoted_values(lines: Lines) -> None:
    token = "-".join(["quoted", "value"])
    try:
        try:
            int(token)
        except ValueError as error:
            raise KeyError(token) from error
    except KeyError:
        log.exception("failed", route="/tpp/token")

    (line,) = lines.all()
    assert token not in lines.text
    assert line["level"] == "ERROR"
    assert line["route"] == "/tpp/token"
    assert line["exception_name"] == "KeyError"
    assert line["exception"].count("test_log.py") == 2
    assert line["exception"].index("ValueError") < line["exception"].index("KeyError")


def test_a_suppressed_exception_is_not_logged(lines: Lines) -> None:
    try:
        try:
            int("a")
        except ValueError:
            raise KeyError from None
    except KeyError:
        log.exception("failed")

    assert "ValueError" not in lines.all()[0]["exception"].splitlines()
