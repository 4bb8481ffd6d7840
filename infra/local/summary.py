"""The summary that ``make run`` prints when the stack is ready."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra.local import stackfile
from infra.local.engines import ENGINES

_BOLD, _DIM, _GREEN, _RESET = "\033[1m", "\033[2m", "\033[32m", "\033[0m"


def summary_rows(content: Mapping[str, Any], file: Path) -> list[tuple[str, str]]:
    """Return the labels and values of the summary, in display order."""
    user, client = content["user"], content["client"]
    rows = [
        ("Open", f"{content['base_url']}  in a browser: register, or sign in as the user below"),
        *tls_rows(content),
        ("User", f"{user['email']} / {user['password']}  (owns the client)"),
        ("Client", f"{client['client_id']}  {client['title']}"),
    ]
    if client["client_secret"]:
        rows.append(("", f"secret {client['client_secret']}"))
    rows += [
        ("Bank", f"{bank['bic']}  {bank['name']}, version {bank['api_version']}  {bank['domain']}")
        for bank in [*content["banks"], *content["fault_banks"]]
    ]
    rows += _customers(content)
    full = content["programme"]["credentials"]["full"]
    rows.append(("Cards", f"{content['base_url']}/api  {content['programme']['name']}, credential full"))
    rows += [("", f"{part} {value}") for part, value in full.items()]
    environment = content["environment"]
    aws = ENGINES[0] if content["engine"] in ENGINES else content["engine"]
    rows.append(("AWS", f"{environment.get('AWS_ENDPOINT_URL', '')}  {aws}"))
    if "AWS_ENDPOINT_URL_DYNAMODB" in environment:
        rows.append(("DynamoDB", f"{environment['AWS_ENDPOINT_URL_DYNAMODB']}  {content['dynamodb_engine']}"))
    rows += _clock_rows(content)
    rows += [
        ("Data", f"{content['data']}/  kept; FRESH=1 starts anew" if "data" in content else "kept at the endpoint"),
        ("Log", str(content["log"])),
        ("Mails", str(content["mails"])),
        ("Written to", str(file)),
    ]
    return rows


def _clock_rows(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    from chalicelib.bootstrap import hub
    from chalicelib.foundation.clock import timestamp
    from chalicelib.website.display_text import elapsed

    clock = hub().clock
    if not clock.offset_seconds:
        return []
    return [("Clock", f"{timestamp(clock.time())}  {elapsed(clock.offset_seconds)} ahead; FRESH=1 goes back")]


def tls_rows(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of the start-up summary that explain how clients trust the service's certificate. Without TLS,
    return no rows.
    """
    if "ca_file" not in content:
        return []
    file = stackfile.display_path(Path(content["ca_file"]))
    return [
        ("TLS", f"{file}  the CA to trust, in a browser too; client certificates are accepted"),
        ("", f"curl --cacert {file} {content['base_url']}/health"),
    ]


def _customers(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rows with logins for the demonstration banks. The passwords are public: the banks' pages display
    them.
    """
    from chalicelib.demo_bank.customers import CUSTOMERS
    from chalicelib.demo_bank.profiles import PROFILES

    there = {bank["bic"] for bank in content["banks"]}  # the customers of fault banks are on their pages
    return [
        ("Customers", f"{profile.bic}  {', '.join(f'{one.customer_id} / {one.password}' for one in people.values())}")
        for profile in PROFILES
        if profile.bic in there and (people := CUSTOMERS[profile.name])
    ]


def _tour_command(file: Path) -> str:
    is_default = file == stackfile.location({})
    return "make tour" if is_default else f"{stackfile.VARIABLE}={stackfile.display_path(file)} make tour"


def print_summary(content: Mapping[str, Any], file: Path, seconds: float, *, quiet: bool) -> None:
    """Print the summary, in colour on a terminal. With ``quiet``, print only that the stack is ready."""
    colour = sys.stdout.isatty()
    bold, dim, green, reset = (_BOLD, _DIM, _GREEN, _RESET) if colour else ("", "", "", "")
    if not quiet:
        print(f"\n{bold}Causeway{reset}\n")
        for label, value in summary_rows(content, file):
            print(f"  {dim}{label:<11}{reset}{value}")
        print(f"\n  Tour: {_tour_command(file)}    Stop: Ctrl-C\n")
    print(f"{green}ready{reset} at {content['base_url']} after {seconds:.1f} s", flush=True)
