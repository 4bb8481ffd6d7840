"""Nearly valid and hostile input, and a check that the response is documented."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from chalicelib.openbanking.protocol.errors import ADDITIONAL, VERSION_1, VERSION_2
from tests.causeway import Answer
from tests.openbanking.examples import copied

odd_text = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["", "\x00", "a\r\nb", "\ud800", " ", "ß", "Ω" * 50, "a" * 9000, "null", "../..", "' OR 1=1"]),
)

json_value = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.decimals(allow_nan=False, allow_infinity=False), odd_text),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(odd_text, inner, max_size=4)),
    max_leaves=12,
)

relaxed = settings(max_examples=30)


@st.composite
def near(draw: st.DrawFn, valid: dict[str, Any]) -> Any:
    body = dict(valid)
    for name in draw(st.sets(st.sampled_from(sorted(valid)), max_size=2)):
        if draw(st.booleans()):
            body[name] = draw(json_value)
        else:
            del body[name]
    if draw(st.integers(0, 4)) == 0:
        body[draw(odd_text)] = draw(json_value)
    return body if draw(st.integers(0, 9)) else draw(json_value)


@st.composite
def near_within(draw: st.DrawFn, valid: dict[str, Any]) -> Any:
    """Draw a valid body with a malformed value at any depth."""
    body = copied(valid)
    holder: Any = body
    while draw(st.integers(0, 3)):
        inner = [
            each for each in (holder.values() if isinstance(holder, dict) else holder) if isinstance(each, dict | list)
        ]
        if not inner:
            break
        holder = draw(st.sampled_from(inner))
    place = (
        draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder)))) if holder else None
    )
    if place is not None:
        holder[place] = draw(json_value)
    return body


def documented(answer: Answer, version: int) -> None:
    """Check that a response is a success or an error of the version's table, and not a 5xx error."""
    assert answer.status < 500
    if answer.status == 200:
        return
    body = answer.body
    if version == 1:
        assert set(body) == {"error_code", "message"}
        assert answer.status == VERSION_1[body["error_code"]].status
        return
    assert answer.status == VERSION_2[body["code"]].status
    for additional in body.get("additionalErrors", []):
        assert additional["code"] in ADDITIONAL or additional["code"] in VERSION_2
        assert additional["details"]
