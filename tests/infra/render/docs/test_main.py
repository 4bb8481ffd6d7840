"""The committed pages are up to date."""

from __future__ import annotations

import pytest

from infra.render.docs.__main__ import main


def test_the_committed_pages_are_up_to_date() -> None:
    assert main(["--check"]) == 0


def test_a_wrong_option_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--chek"])
    assert "--chek" in capsys.readouterr().err
