"""A TPP's web application at an origin of its own, which PSUs start from and come back to."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_ICON = '<link rel="icon" href="data:,">'


@contextmanager
def serving(pages: Mapping[str, str]) -> Iterator[str]:
    """Serve ``pages``, HTML by path, as long as the context lasts; gives the origin. Any other path is empty.

    The pages name an empty icon, so that no browser asks for one while the server stops.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = (_ICON + pages.get(urlsplit(self.path).path, "")).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
