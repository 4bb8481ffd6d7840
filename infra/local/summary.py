"""What ``make run`` prints when everything stands."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_BOLD, _DIM, _GREEN, _RESET = "\033[1m", "\033[2m", "\033[32m", "\033[0m"


def lines(content: Mapping[str, Any], file: Path) -> list[tuple[str, str]]:
    """Labels and values, in the order of reading."""
    user, client = content["user"], content["client"]
    rows = [
        ("Service", content["base_url"]),
        ("User", f"{user['email']}  password {user['password']}"),
        ("Client", f"{client['client_id']}  {client['title']}"),
    ]
    if client["client_secret"]:
        rows.append(("", f"secret {client['client_secret']}"))
    rows += [
        ("Bank", f"{bank['bic']}  {bank['name']}, version {bank['api_version']}  {bank['domain']}")
        for bank in content["banks"]
    ]
    environment = content["environment"]
    rows.append(("AWS", f"{environment.get('AWS_ENDPOINT_URL', '')}  {content['engine']}"))
    if "AWS_ENDPOINT_URL_DYNAMODB" in environment:
        rows.append(("DynamoDB", environment["AWS_ENDPOINT_URL_DYNAMODB"]))
    rows.append(("Written to", str(file)))
    return rows


def show(content: Mapping[str, Any], file: Path, seconds: float, *, quiet: bool) -> None:
    """Print it; with colour on a terminal only, and without any credential when ``quiet``."""
    colour = sys.stdout.isatty()
    bold, dim, green, reset = (_BOLD, _DIM, _GREEN, _RESET) if colour else ("", "", "", "")
    if not quiet:
        print(f"\n{bold}Causeway{reset}\n")
        for label, value in lines(content, file):
            print(f"  {dim}{label:<11}{reset}{value}")
        print("\n  The tour: make tour    The end: Ctrl-C\n")
    print(f"{green}ready{reset} at {content['base_url']} after {seconds:.1f} s", flush=True)
