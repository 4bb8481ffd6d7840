"""The address of a visitor, also behind CloudFront, whose address every connection then has.

A header that names an address can be sent by anybody. It is read only from requests that prove that CloudFront sent
them, by a secret that the distribution adds.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress

from chalicelib.foundation.http.web import Incoming
from chalicelib.foundation.settings import Settings

PROOF_HEADER = "x-causeway-origin-secret"
ADDRESS_HEADER = "cloudfront-viewer-address"
"""CloudFront sets it to the viewer's address and port, and replaces what the viewer sent."""


def visitor_address(settings: Settings, incoming: Incoming) -> str:
    """The IP address of the visitor; empty if unknown.

    It is that of the connection, unless the settings have digests of CloudFront's secret, and the request has one of
    the secrets.
    """
    forwarded = incoming.headers.get(ADDRESS_HEADER, "")
    if not forwarded or not _has_secret(settings, incoming):
        return incoming.address
    try:
        return str(ipaddress.ip_address(forwarded.rpartition(":")[0].strip("[]")))
    except ValueError:
        return incoming.address


def _has_secret(settings: Settings, incoming: Incoming) -> bool:
    secret = incoming.headers.get(PROOF_HEADER, "")
    digest = hashlib.sha256(secret.encode()).hexdigest()
    return secret != "" and any(hmac.compare_digest(digest, each) for each in settings.cloudfront_secrets)
