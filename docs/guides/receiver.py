"""A receiver that verifies and prints events. SECRET=whsec_… .venv/bin/python docs/guides/receiver.py PORT."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from causeway.tpp import EventVerifier, InvalidEvent

seen = set[str]()  # in production, a persistent table


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))  # as it came: the signature covers it
        try:
            received = verifier.verify(dict(self.headers), body)
        except InvalidEvent:
            self.send_error(400)
            return
        if received.id not in seen:  # an event may be repeated
            seen.add(received.id)
            print("verified", received.event.type, json.dumps(received.event.to_json()["data"]), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing: only events are printed."""


if len(sys.argv) != 2 or not sys.argv[1].isdecimal() or not os.environ.get("SECRET"):
    sys.exit("usage: SECRET=whsec_… .venv/bin/python docs/guides/receiver.py PORT")
verifier = EventVerifier(os.environ["SECRET"])
HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
