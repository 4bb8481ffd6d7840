"""Example values in the documents that are used several times, are long, or come from the service's tables.

Docstrings of members refer to these values by name, as in ``Example: ``STATE``.``
"""

from __future__ import annotations

from chalicelib.cards.protocol import values
from chalicelib.foundation import jsontext
from chalicelib.openbanking.protocol import oauth_security

OWN_ADDRESS = "http://127.0.0.1:8000"
"""The service's URL in examples. It is replaced with the actual URL when the documents are served."""
CALLBACK = "https://tpp.example.com/callback"

GB_IBAN, DE_IBAN = "GB10DEMO04000431926801", "DE61100999000004711001"
GB_ACCOUNT, DE_ACCOUNT = "1031926801", "65e1d84d-bbff-5020-8a18-fa562a050c8d"

CONSENT = "5f8d0c1e9b7a463f2d1c0b"
"""The id of a consent."""
RANDOM = "3q2-7wX9aLr0Zk5vYtJmNcB1dFgHsUe4iOpQlAzXyVw"
"""The secret part of a token."""
CODE = f"{CONSENT}.{RANDOM}"
ACCESS_TOKEN = f"{CONSENT}~a41b22c63d84e5f607182a~DEMODEF1XXX.{RANDOM}"
REFRESH_TOKEN = f"{CONSENT}~c93d1e5f708192a3b4c5d6.{RANDOM}"
BANK_TOKEN = f"7a3e9c1d5b20f8e6a4c2d1.{RANDOM}"
"""A bank's access token."""
CONSENTS_CURSOR = f"1795257000~{CONSENT}.{RANDOM}"

STATE = "lVZ1uF2wC8mJr0d6oKxq3A"
"""The ``state`` of an authorization request."""
CHALLENGE, VERIFIER = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
THUMBPRINT = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
ASSERTION = "eyJhbGciOiJFUzI1NiIsImtpZCI6IjIwMjYtMTEifQ.eyJpc3MiOiI0ZjFjMmI3YSJ9.MEUCIQDx"
NONCE = "29920890.k3Xb0Qm7yT2rUe5oLwPzVcAhJfNdSgIi8t1B4x6R9sM"
"""A DPoP nonce."""
PROOF = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7fX0.eyJodG0iOiJHRVQifQ.MEQCIFx"
"""A shortened DPoP proof."""
REQUEST_URL = (
    "https://bank.example/authorize?response_type=code&client_id=4f1c2b7a9d8e6f503a1b2c"
    f"&redirect_uri=https%3A%2F%2Ftpp.example.com%2Fcallback&scope=accounts&state={STATE}&consent_type=reusable"
)
RETURN_URL = f"{CALLBACK}?authorization_code={CODE}&code={CODE}&state={STATE}&iss=https%3A%2F%2Fcauseway.example"

DEFERRED_REQUEST = "b81f6e03d29c4a57e6f1d8"
EVENTS_CURSOR = f"AAABmslcfwDSTHqb4FE_hqHEXQ.{RANDOM}"
HAPPENED = "2026-11-21T09:30:00+00:00"
EVENT_BODY = jsontext.dumps(
    {
        "type": "consent.revoked",
        "timestamp": HAPPENED,
        "data": {"consent_id": CONSENT, "bic": "DEMODEF1", "revoked_by": "bank"},
    }
)
SIGNING_ALGORITHMS = list(oauth_security.SIGNING_ALGORITHMS)
ASSERTION_TYPE = oauth_security.ASSERTION_TYPE
PUSHED_REQUEST = f"{oauth_security.REQUEST_URI}{CODE}"
"""The ``request_uri`` of a pushed request."""
RISK_ACTIONS = [dict.fromkeys(values.RISK_ACTIONS, 0)]
SECURITY_CHECKS = [dict.fromkeys(values.SECURITY_CHECKS, 0)]
