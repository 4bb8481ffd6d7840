"""Prints how much shape the code has: each figure, its value and its goal. ``--names`` lists what is counted."""

from __future__ import annotations

import os

from moto import mock_aws

from infra import command
from infra.local.resources import create_resources
from tests.causeway import Causeway
from tests.kit import emulator
from tests.kit.logs import silent
from tests.shape import figures
from tests.shape.figures import Figure
from tests.shape.traced import card_authorization, relayed_read


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = command.parser("tests.shape", __doc__)
    parser.add_argument("--names", action="store_true", help="list what each figure counts")
    options = parser.parse_args(arguments)
    print(figures.HEAD)
    for each in [*figures.read_static(), *_traced()]:
        print(each.row)
        for name in each.names if options.names else ():
            print(f"    {name}")


def _traced() -> list[Figure]:
    """The figures of two requests to the service in this process, on an emulator within it."""
    os.environ |= emulator.ENVIRONMENT
    emulator.answer_calls()
    emulator.install()
    with mock_aws(), silent():
        create_resources(emulated=True, dynamodb_apart=False)
        causeway = Causeway.first().again()
        with causeway.installed():
            read, authorization = relayed_read(causeway), card_authorization(causeway)
    return [*figures.of_relayed_read(read), *figures.of_card_authorization(authorization)]


if __name__ == "__main__":
    command.run(main)
