"""Helpers for test stacks: waiting for the initial data, and a fake LocalStack server.

The module is also a command that prints the fake server's address and runs until standard input closes.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from infra.local import stackfile
from infra.local.emulator import Emulator, EmulatorServer, load_moto
from infra.local.engines import HEALTH, SERVICES
from infra.local.first_data import COMPLETE
from infra.local.process import exit_with_parent
from tests.kit.time import wait_for

_HEALTH = json.dumps({"services": dict.fromkeys(SERVICES, "available")}).encode()


def wait_for_card_month(stack: Mapping[str, Any]) -> None:
    """Wait until the stack has created a month of card use, because tests use cards on the same stack."""
    file = Path(stack["log"]).with_name("stack.json")

    def is_complete() -> bool:
        return ((stackfile.read(file) or {}).get("first_data") or {}).get("state") == COMPLETE

    wait_for(is_complete, "the month of card use has not been played")


def main() -> None:
    """Serve the built-in emulator with the health document of LocalStack."""
    exit_with_parent()
    emulator = load_moto()

    def application(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        if environ["PATH_INFO"] != HEALTH:
            return emulator(environ, start_response)
        start_response("200 OK", [("Content-Type", "application/json")])
        return [_HEALTH]

    server = EmulatorServer(Emulator(application))
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
