"""Plays the PSU at the guide's bank: opens the page, decides, and follows the redirect back."""

import re
import sys
from urllib.parse import urljoin

import requests

DECISIONS = {"approve": "yes", "confirm": "yes", "refuse": "no"}

match sys.argv[1:]:
    case [bank, "revoke"]:
        url, decision = f"{bank}/consents", "confirm"
    case [bank, "consent" | "payment", url, decision] if decision in DECISIONS:
        pass
    case _:
        sys.exit("usage: .venv/bin/python docs/guides/psu.py BANK consent URL approve")

try:
    page = requests.get(url, timeout=20)
    form = re.search('action="([^"]+)"', page.text)
    if not form:
        sys.exit(f"the bank's page has status {page.status_code} and nothing to decide: {page.text}")
    answer = requests.post(urljoin(page.url, form[1]), data={"decision": DECISIONS[decision]}, timeout=20)
except requests.RequestException as error:
    sys.exit(f"no response from {error.request.url if error.request else url}: {error}")
if not answer.ok:
    sys.exit(f"the browser ended at {answer.url} with status {answer.status_code}")
