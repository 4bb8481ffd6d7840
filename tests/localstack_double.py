"""An endpoint for stacks: the built-in emulator with the health document of LocalStack.

As a command, it prints its address and serves until its standard input closes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from infra.local.emulator import Emulator, EmulatorServer, load_moto
from infra.local.engines import HEALTH, SERVICES
from infra.local.process import exit_with_parent

_HEALTH = json.dumps({"services": dict.fromkeys(SERVICES, "available")}).encode()


def main() -> None:
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
