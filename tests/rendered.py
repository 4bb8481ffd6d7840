"""The rendered files, for tests that read them: pages of the documentation, and OpenAPI documents."""

from __future__ import annotations

import subprocess
import sys

import pytest

from infra.repository import ROOT


@pytest.fixture(scope="session")
def rendered() -> None:
    """Render what is out of date; of several test processes, one renders, and the others wait for it."""
    subprocess.run([sys.executable, "-m", "infra.render"], cwd=ROOT, check=True)
