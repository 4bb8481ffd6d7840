"""PSU actions in a conformance run: the PSU command with its exit codes, and a person in a browser."""

import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance import kit, psu
from infra.conformance.checks import checks_of
from infra.conformance.psu import BrowserPsu, PsuOutcome, ScriptPsu, Task
from infra.conformance.selection import select
from tests.infra.conformance.kit_runs import HUB_KEY, LIMITS, file_of, running
from tests.infra.conformance.small_bank import SmallBank
from tests.kit.documents import ROOT
from tests.kit.http import free_port
from tests.kit.time import PATIENCE_SECONDS

TASK = Task("consent", "http://bank/consent?x=1", "approve", lambda: False)


def script(folder: Path, code: str, seconds: float = PATIENCE_SECONDS) -> ScriptPsu:
    file = folder / "psu.py"
    file.write_text(code, "utf-8")
    return ScriptPsu([sys.executable, str(file)], seconds)


@pytest.mark.parametrize(
    ("task", "arguments"),
    [
        (TASK, "consent http://bank/consent?x=1 approve"),
        (Task("payment", "http://bank/pay", "refuse", bool), "payment http://bank/pay refuse"),
        (Task("revoke", "", "", bool), "revoke"),
    ],
)
def test_the_psu_command_receives_the_action_the_address_and_the_decision(
    task: Task, arguments: str, tmp_path: Path
) -> None:
    outcome = script(tmp_path, "import sys; print(*sys.argv[1:])").act(task)

    assert outcome == PsuOutcome("done", arguments)


def test_exit_code_3_of_the_psu_command_means_not_supported(tmp_path: Path) -> None:
    outcome = script(tmp_path, "print('no such page'); raise SystemExit(3)").act(TASK)

    assert outcome == PsuOutcome("unsupported", "no such page")


def test_an_unknown_exit_code_of_the_psu_command_is_a_failure_with_the_output(tmp_path: Path) -> None:
    outcome = script(tmp_path, "import sys; sys.exit('the form is gone')").act(TASK)

    assert outcome.state == "failed"
    assert outcome.text == "psu.command ended with exit code 1 for: consent approve\nthe form is gone"


def test_long_output_of_the_psu_command_is_cut_at_the_start_of_a_line(tmp_path: Path) -> None:
    outcome = script(tmp_path, "for n in range(300): print(f'line {n:05}')\nraise SystemExit(1)").act(TASK)
    _, first, *others = outcome.text.splitlines()

    assert first == "line 00119"
    assert others[-1] == "line 00299"


def test_long_psu_command_output_without_line_breaks_is_cut_at_the_beginning(tmp_path: Path) -> None:
    outcome = script(tmp_path, "print('x' * 3000 + 'end')\nraise SystemExit(1)").act(TASK)

    assert outcome.text.splitlines()[1] == "x" * 1997 + "end"


def test_the_psu_command_of_the_guide_reports_an_unreachable_bank_in_one_line() -> None:
    bank = f"http://127.0.0.1:{free_port()}"
    guide = ScriptPsu([sys.executable, str(ROOT / "docs/guides/psu.py"), bank], PATIENCE_SECONDS)
    outcome = guide.act(Task("consent", f"{bank}/consent?x=1", "approve", bool))

    assert outcome.state == "failed"
    first, second = outcome.text.splitlines()
    assert first == "psu.command ended with exit code 1 for: consent approve"
    assert second.startswith(f"no response from {bank}/consent?x=1: ")


def test_a_psu_command_that_times_out_is_a_failure(tmp_path: Path) -> None:
    outcome = script(tmp_path, "import time; time.sleep(600)", seconds=0.3).act(TASK)

    assert outcome == PsuOutcome("failed", "psu.command did not end within 0.3 s for: consent approve")


def test_a_psu_command_that_cannot_be_executed_is_a_failure(tmp_path: Path) -> None:
    outcome = ScriptPsu([str(tmp_path / "none")], 1).act(TASK)

    assert outcome == PsuOutcome("failed", "psu.command cannot be executed: No such file or directory")


@pytest.mark.parametrize(("code", "outcome"), [("raise SystemExit(3)", "skipped"), ("raise SystemExit(1)", "failed")])
def test_exit_code_3_skips_the_check_and_exit_code_1_fails_the_check(code: str, outcome: str, tmp_path: Path) -> None:
    chosen = select(checks_of(VERSIONS[2]), "consent.initiated")
    with running(SmallBank(VERSIONS[2])) as bank:
        described = file_of(bank)
        bank.hub = described.public_url
        player = script(tmp_path, code)
        with kit.open_session(described, HUB_KEY, StringIO(), psu=player, limits=LIMITS) as session:
            (result,) = kit.run(session, chosen, lambda _: None).results

    assert result.outcome == outcome
    assert "psu.command" in result.problem


# -- a person


class _Waiting:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def __call__(self, is_done: Callable[[], bool], seconds: float) -> bool:
        self.now += seconds
        return is_done()


def test_browser_mode_prints_the_requested_action_and_waits_for_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, output = _Waiting(monkeypatch), StringIO()
    task = Task("payment", "http://bank/pay", "confirm", lambda: waiting.now > 3)

    assert BrowserPsu(300, output, waiting).act(task) == PsuOutcome("done")
    assert output.getvalue() == "\nOpen this address, and confirm the payment at the bank:\n  http://bank/pay\n"


def test_browser_mode_prints_reminders_and_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, output = _Waiting(monkeypatch), StringIO()
    outcome = BrowserPsu(150, output, waiting).act(Task("revoke", "", "", lambda: False))

    assert outcome == PsuOutcome("failed", "nothing happened within 150 s of: revoke")
    assert output.getvalue().count("still waiting for: revoke") == 2
    assert "End the access of «Causeway conformance kit»" in output.getvalue()


def test_a_person_at_a_terminal_can_skip_a_conformance_step(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, output = _Waiting(monkeypatch), StringIO()
    monkeypatch.setattr(psu, "can_read", lambda: True)
    monkeypatch.setattr(psu, "has_skipped", lambda: True)

    assert BrowserPsu(300, output, waiting).act(TASK).state == "unsupported"
    assert "s and Enter skip this step" in output.getvalue()
