"""What answers as a running stack does, so that the file of one can be found to be true."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

from infra.local.stackfile import HEADER


@contextmanager
def answering(
    stack_id: str | None = "the-stack", server: str = "Causeway", status: int = 200
) -> Iterator[dict[str, Any]]:
    """A server whose ``/health`` is that of a stack; gives what the stack's file would say of it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            if stack_id:
                self.send_header(HEADER, stack_id)
            self.end_headers()

        def version_string(self) -> str:
            return server

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        content = {"pid": 1, "environment": {"STAGE": "local", "PORT": str(running.server_port)}}
        try:
            yield {**content, "id": stack_id} if stack_id else content
        finally:
            running.shutdown()
