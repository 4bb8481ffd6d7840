"""Tests of module loading: the card API is imported on first use and does not delay responses of other interfaces."""

import os
import subprocess
import sys

from tests.kit.source_code import ROOT, reached, within

CARDS = "chalicelib.cards"
DOORS = ["chalicelib.cards.api.card_api", "chalicelib.cards.jobs"]
"""The modules that receive requests and run scheduled jobs."""
CONTAINER = "chalicelib.cards.container"
"""The module that creates the parts of the card package on first use."""
_FIRST_READ = (
    "import app, sys; from chalicelib.bootstrap import hub; from chalicelib.openbanking.flows.reads.relay import relay;"
    "parts = set(relay.__annotations__) & set(type(hub().openbanking).__annotations__);"
    "assert 'bank_client' in parts; [getattr(hub().openbanking, name) for name in parts];"
    "print(*sorted(name for name in sys.modules if name.startswith('chalicelib.cards')))"
)


def test_the_lambda_function_imports_only_the_entry_points_of_the_card_api() -> None:
    assert {name for name in reached("app") if within(name, CARDS)} == {*DOORS, CONTAINER}


def test_a_relayed_read_imports_only_the_entry_points_of_the_card_api() -> None:
    environment = {**os.environ, "STAGE": "local", "AWS_DEFAULT_REGION": "eu-west-1"}
    command = [sys.executable, "-c", _FIRST_READ]
    made = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)

    assert made.stdout.split() == sorted([CARDS, f"{CARDS}.api", *DOORS, CONTAINER])
