"""Plays the PSU at the guide's bank: opens the page, decides, and follows the redirect back."""

import re
import sys
from urllib.parse import urljoin

import requests

BANK = "http://127.0.0.1:9713"

action, url, decision = (*sys.argv[1:], "", "")[:3]
page = requests.get(url if action != "revoke" else f"{BANK}/consents", timeout=20)
form = re.search('action="([^"]+)"', page.text)
if not form:
    sys.exit(f"the bank's page has status {page.status_code} and nothing to decide: {page.text}")
answer = requests.post(
    urljoin(page.url, form[1]), data={"decision": "no" if decision == "refuse" else "yes"}, timeout=20
)
if not answer.ok:
    sys.exit(f"the browser ended at {answer.url} with status {answer.status_code}")
