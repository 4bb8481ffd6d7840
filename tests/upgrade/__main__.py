"""Write the data of this release to ``tests/upgrade/released.jsonl``. Tests of later releases load this file.

A service in this process with a simulated clock uses an emulator. The file contains the emulator's data.
"""

import contextlib
import io
import os
import tempfile
from pathlib import Path

from infra import command


def main(arguments: list[str] | None = None) -> None:
    command.parser("tests.upgrade", __doc__).parse_args(arguments)
    os.environ |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "STAGE": "local"}
    os.environ |= {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_REGION": "eu-west-1"}
    for variable in ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_PROFILE", "BANK_API_URL", "PORT", "PUBLIC_URL"):
        os.environ.pop(variable, None)
    with contextlib.redirect_stdout(io.StringIO()):  # the service's log
        file = _write()
    print(os.path.relpath(file))


def _write() -> Path:
    from tests.causeway import Causeway
    from tests.upgrade import data_file
    from tests.upgrade.play import play

    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        with data_file.emulator(state):
            causeway = Causeway.first()
            with causeway.installed(), causeway.manager_wants_events():
                data_file.write(data_file.RELEASED, state, play(causeway))
    return data_file.RELEASED


if __name__ == "__main__":
    command.run(main)
