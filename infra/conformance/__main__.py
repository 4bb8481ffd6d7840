"""Simulates the hub, checks a bank's implementation against the protocol, and writes a report.

``bank.yaml`` describes the bank: see docs/concepts/bank-conformance.md. The exit code is 0 if no mandatory check
failed, 1 if a mandatory check failed or was blocked by an earlier failure, and 2 if the kit could not run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from chalicelib.openbanking.protocol.versions import VERSIONS
from infra import command
from infra.conformance import bank_file, kit, report
from infra.conformance.bank_file import BankUnderTest, InvalidBankFile
from infra.conformance.check import Check
from infra.conformance.checks import checks_of
from infra.conformance.hub_server import PortTaken
from infra.conformance.kit import CannotRun
from infra.conformance.selection import UnknownChecks, select
from infra.conformance.terminal import Terminal

OUTPUT = Path("build/conformance")
FAILED, COULD_NOT_RUN = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command.parser("infra.conformance", __doc__)
    parser.add_argument("bank", nargs="?", type=Path, metavar="BANK", help="the file that describes the bank")
    parser.add_argument("--only", default="", help="ids, groups or patterns of checks, separated by commas")
    parser.add_argument("--output", type=Path, default=OUTPUT, help=f"the folder for the reports ({OUTPUT})")
    parser.add_argument("--list", action="store_true", help="print the ids of all checks by version, and end")
    given = parser.parse_args(arguments)
    if given.list:
        return _list_checks()
    if given.bank is None:
        return _refuse("no file was given: make conformance BANK=bank.yaml")
    try:
        bank = bank_file.read(given.bank)
        chosen = select(checks_of(bank.version), given.only)
        return _play(bank, chosen, given.output)
    except InvalidBankFile as error:
        faults = "\n".join(f"  {fault}" for fault in error.faults)
        return _refuse(f"{given.bank} cannot be used:\n{faults}")
    except (UnknownChecks, PortTaken, CannotRun) as error:
        return _refuse(str(error))


def _play(bank: BankUnderTest, chosen: Sequence[Check], folder: Path) -> int:
    terminal = Terminal(sys.stdout)
    key = kit.load_key(bank, folder)
    with kit.open_session(bank, key, sys.stdout) as session:
        terminal.begin(bank, len(chosen))
        ended = kit.run(session, chosen, terminal.show)
    try:
        files = report.write(ended, folder)
    except OSError as error:
        raise CannotRun(f"the reports cannot be written to {folder}: {error.strerror}") from None
    terminal.end(ended, files)
    return 0 if ended.is_good else FAILED


def _list_checks() -> int:
    for version in VERSIONS.values():
        for check in checks_of(version):
            print(f"{version}  {check.level:<9}  {check.check_id}")
    return 0


def _refuse(text: str) -> int:
    print(f"causeway: {text}", file=sys.stderr)
    return COULD_NOT_RUN


if __name__ == "__main__":
    command.run(main)
