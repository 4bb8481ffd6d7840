"""A browser window without a screen."""

from __future__ import annotations

import re
from typing import Any

import requests

from tests.kit.time import PATIENCE_SECONDS

_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')


class Window:
    """A browser window without a screen: it keeps cookies and sends forms."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.session = requests.Session()
        self.session.trust_env = False

    def get(self, path: str) -> requests.Response:
        return self.session.get(self.base + path, timeout=PATIENCE_SECONDS)

    def post(self, path: str, shown: requests.Response, **fields: Any) -> requests.Response:
        found = _TOKEN.search(shown.text)
        assert found is not None
        data = {"form_token": found[1], **fields}
        return self.session.post(self.base + path, data=data, timeout=PATIENCE_SECONDS, allow_redirects=False)
