"""A receiver that verifies and prints events. SECRET=whsec_… .venv/bin/python docs/guides/receiver.py PORT."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

seen = set()  # in production, a persistent table


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))  # the raw body, which the signature covers
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            event = Webhook(os.environ["SECRET"]).verify(body, headers)
        except WebhookVerificationError:
            self.send_error(400)
            return
        if headers["webhook-id"] not in seen:  # an event may be repeated
            seen.add(headers["webhook-id"])
            print("verified", event["type"], json.dumps(event["data"]), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing: only events are printed."""


if len(sys.argv) != 2 or not sys.argv[1].isdecimal() or not os.environ.get("SECRET"):
    sys.exit("usage: SECRET=whsec_… .venv/bin/python docs/guides/receiver.py PORT")
HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
