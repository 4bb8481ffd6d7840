"""Log lines for the tests that read them; pytest's own plugin would format every line of every test twice more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.logging import LogCaptureHandler, caplog_handler_key, catching_logs


@pytest.fixture
def caplog(request: pytest.FixtureRequest) -> Iterator[pytest.LogCaptureFixture]:
    """Pytest's fixture of this name, without the sections that its plugin adds to reports."""
    request.node.stash[caplog_handler_key] = handler = LogCaptureHandler()
    with catching_logs(handler):
        captured = pytest.LogCaptureFixture(request.node, _ispytest=True)
        yield captured
        captured._finalize()
