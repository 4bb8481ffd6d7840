"""Many cases in one test: one that fails hides no other, and none at all is no success."""

from __future__ import annotations

import pytest

from tests.many import cases


def test_every_case_that_fails_is_told_by_its_name() -> None:
    def play() -> None:
        with cases() as case:
            for number in range(4):
                with case(f"number {number}"):
                    assert number % 2 == 0, "it is odd"
            with case("nothing"), pytest.raises(KeyError):
                pass

    with pytest.raises(AssertionError) as told:
        play()

    assert str(told.value).splitlines()[0] == "3 of 5 cases failed:"
    assert all(
        name in str(told.value) for name in ("number 1: AssertionError: it is odd", "number 3", "nothing: Failed")
    )
    assert "number 0" not in str(told.value)


def test_no_case_is_no_success() -> None:
    with pytest.raises(AssertionError, match="there is no case"), cases():
        pass
