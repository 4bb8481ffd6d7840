"""Lines in front of contended items: who comes second waits for its turn, and nobody waits for nothing."""

from __future__ import annotations

import threading

from chalicelib.cards.storage.hot_key_queue import Turn, Turns
from chalicelib.foundation.clock import SystemClock
from chalicelib.foundation.dynamodb.store import Put, Update

ACCOUNT = ("cards", {"owner": "account#1", "part": "account"})
OTHER = ("cards", {"owner": "account#2", "part": "account"})
CLOCK = SystemClock()
CHANGE = Update(*ACCOUNT, set={"held": 1})


def turn_in(lines: Turns, patience: float = 10) -> Turn:
    return Turn(lines, CLOCK, CLOCK.monotonic() + patience)


def in_line(lines: Turns) -> int:
    return sum(line.standing for line in lines._lines.values())


def test_nobody_waits_where_nobody_has_met() -> None:
    lines = Turns()
    first, second = turn_in(lines), turn_in(lines)

    first.approach([ACCOUNT, OTHER])
    second.approach([ACCOUNT])

    assert in_line(lines) == 0


def test_who_came_second_stands_in_line_and_newcomers_wait_for_it() -> None:
    lines, order = Turns(), []
    late, newcomer = turn_in(lines), turn_in(lines)
    late.contend(CHANGE)

    def come() -> None:
        newcomer.approach([OTHER, ACCOUNT])
        order.append("newcomer")
        newcomer.leave()

    thread = threading.Thread(target=come)
    thread.start()
    until = CLOCK.monotonic() + 10
    while in_line(lines) < 2:
        assert CLOCK.monotonic() < until
    order.append("late")
    late.leave()
    thread.join()

    assert order == ["late", "newcomer"]
    assert in_line(lines) == 0


def test_a_put_and_an_update_of_one_item_stand_in_one_line() -> None:
    lines = Turns()
    turn = turn_in(lines)

    turn.contend(CHANGE)
    turn.contend(Put("cards", {**ACCOUNT[1], "held": 2}))

    assert in_line(lines) == 1
    assert turn.in_vain == 1


def test_a_request_stands_in_one_line_only() -> None:
    """Two that hold one line each and wait for the other's would wait for ever."""
    lines = Turns()
    turn = turn_in(lines)

    turn.contend(CHANGE)
    turn.contend(Update(*OTHER, set={"held": 1}))
    turn.approach([ACCOUNT])

    assert in_line(lines) == 1
    assert turn.in_vain == 0
    turn.leave()
    turn.leave()
    assert in_line(lines) == 0


def test_who_has_stood_in_line_for_long_tries_its_luck() -> None:
    lines = Turns()
    first, second = turn_in(lines), turn_in(lines, patience=0)
    first.contend(CHANGE)

    second.contend(CHANGE)

    second.leave()
    first.leave()
    assert in_line(lines) == 0
