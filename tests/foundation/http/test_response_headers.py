"""Response headers are parsed with the same result as in ``http.client``. A malformed header line is rejected."""

import http.client
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.foundation.http.response_headers import read_headers

NAME = st.from_regex(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,20}", fullmatch=True)
VALUE = st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_characters="\x7f\x85\xa0\xad"), max_size=30)


@given(
    st.lists(st.tuples(NAME, VALUE), max_size=20), st.sampled_from(["\r\n", "\n"]), st.sampled_from(["", " ", "\t "])
)
def test_response_headers_are_parsed_with_the_same_result_as_in_http_client(
    fields: list[tuple[str, str]], end: str, space: str
) -> None:
    text = "".join(f"{name}:{space}{value}{end}" for name, value in fields) + end

    ours = read_headers(io.BytesIO(text.encode("iso-8859-1")))
    theirs = http.client.parse_headers(io.BytesIO(text.encode("iso-8859-1")))

    assert [*ours.items()] == theirs.items() == fields
    for name, _ in fields:
        assert ours.get(name.upper()) == theirs.get(name.upper())
    assert ours.get("absent") is None


def test_a_folded_response_header_value_is_joined() -> None:
    headers = read_headers(io.BytesIO(b"A: 1\r\n  2\r\n\t3 \r\nB: 4\r\n\r\n"))

    assert [*headers.items()] == [("A", "1 2 3"), ("B", "4")]


@pytest.mark.parametrize(
    "line",
    [
        *(b"no header", b": no name", b"a name: 1", b" begins with a space", b"Transfer-Encoding : chunked"),
        *(b"A: 1\rTransfer-Encoding: chunked", b"A: 1\0", b"A: 1\r\n \r2", b"A\xe4: 1"),
    ],
)
def test_a_malformed_response_header_line_is_rejected(line: bytes) -> None:
    with pytest.raises(http.client.HTTPException):
        read_headers(io.BytesIO(line + b"\r\nContent-Length: 5\r\n\r\nbody"))


def test_spaces_around_a_response_header_value_are_removed() -> None:
    spaces = b" " * 60_000

    assert [*read_headers(io.BytesIO(b"A:" + spaces + b"1" + spaces[:5] + b"\r\n\r\n")).items()] == [("A", "1")]


@pytest.mark.parametrize("text", [b"A: " + b"x" * 65_537, b"A: 1\r\n" * 101])
def test_too_many_and_too_long_response_headers_are_rejected(text: bytes) -> None:
    with pytest.raises(http.client.HTTPException):
        read_headers(io.BytesIO(text))
