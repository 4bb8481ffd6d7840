"""A script that uses every library as the service does, with only the unpacked packages on the path.

Run this file without site-packages: ``python -I -S -B libraries.py CODE LAYER LOADED``. Standard input is a JSON array
of the module names that the service imports. The script writes the paths of all loaded modules to the file ``LOADED``.
"""

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

BELGIAN = "BE71096123456769"
TOKEN = (
    "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJjYXVzZXdheSJ9."
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)
EC_KEY = {
    "kty": "EC",
    "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
}
"""The example key of RFC 7517, appendix A.1."""


def read_registries() -> None:
    from chalicelib.foundation.fields import ibans, registries

    assert ibans.is_iban(BELGIAN)
    assert registries.decimals()["EUR"] == 2
    assert registries.country_names()["BE"] == "Belgium"
    assert {"BE", "BEL"} <= registries.countries(2) | registries.countries(3)


def check_passwords() -> None:
    from chalicelib.foundation.crypto import passwords

    assert passwords.verify(passwords.hash_password("rain on a tin roof"), "rain on a tin roof")
    assert "too easy" in str(passwords.problem("ada@example.com", "password1234"))


def check_signatures() -> None:
    from chalicelib.foundation.crypto import signatures, signed_jwts

    key = signatures.load_private_key(signatures.generate_private_pem())
    assert signatures.verify([key.public_key()], b"body", signatures.sign(key, b"body"))
    keys = signed_jwts.import_key_set({"keys": [EC_KEY]})
    refused = refusal(lambda: signed_jwts.verify(signed_jwts.parse(TOKEN), keys, {"ES256"}))
    assert refused == "its signature is wrong"


def write_metrics() -> None:
    from chalicelib.foundation import metrics

    lines: list[str] = []
    metrics.set_output(lines.append)
    metrics.Metrics("dev").write({"Sent": 1}, {"Took": [2.5]}, Bank="DEMOGB21")
    assert json.loads(lines[0])["Sent"] == [1.0]


def draw_icon() -> None:
    from chalicelib.foundation.http.pages import heroicon

    assert heroicon("home", 20).startswith("<svg")


def call_services_of_boto3() -> None:
    from chalicelib.foundation.aws.boto3_clients import Bucket, SesMailer
    from chalicelib.foundation.mail import Mail

    mail = Mail("ada@example.com", "Subject", "Text")
    answers = [
        refusal(lambda: Bucket("causeway-nothing-there").read("key")),
        refusal(lambda: SesMailer("nobody@example.com").send(mail, "1")),
    ]
    for answer, expected in zip(answers, ("NoSuchBucket", "SES responded with"), strict=True):
        assert expected in answer, answer


def refusal(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return str(error)
    return ""


def find_endpoints() -> None:
    import os

    from chalicelib.foundation.aws import environment
    from chalicelib.foundation.aws.services import SERVICES

    del os.environ["AWS_ENDPOINT_URL"]
    os.environ["AWS_REGION"] = "cn-north-1"
    for service in SERVICES:
        assert environment.endpoint(service).url == f"https://{service}.cn-north-1.amazonaws.com.cn/"


def main(code: str, layer: str, loaded: str) -> None:
    sys.path[:0] = [code, layer]
    for name in json.load(sys.stdin):
        importlib.import_module(name)
    read_registries()
    check_passwords()
    check_signatures()
    write_metrics()
    draw_icon()
    call_services_of_boto3()
    find_endpoints()
    files = sorted(file for each in list(sys.modules.values()) if (file := getattr(each, "__file__", None)))
    Path(loaded).write_text(json.dumps(files))


if __name__ == "__main__":
    main(*sys.argv[1:])
