"""The clauses of the FAPI 2.0 Security Profile: how each holds here, and the tests that show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Clause(NamedTuple):
    """A clause in our own words, how it holds, and tests as ``path below tests::name``."""

    number: str
    demand: str
    holds: str
    tests: tuple[str, ...]


class Part(NamedTuple):
    """A section of the specification; ``note`` says which of its clauses do not apply, or are not the service's."""

    title: str
    clauses: Sequence[Clause]
    note: str = ""


_CLAUSES = "openbanking/test_profile_clauses.py"
_PROFILE = "openbanking/test_security_profile.py"
_ATTACKS = "openbanking/test_attacks.py"
_METADATA = "openbanking/api/test_oauth_api.py"
_PAR = "openbanking/flows/test_pushed_authorization.py"
_JWT = "openbanking/oauth/test_private_key_jwt.py"
_DPOP = "openbanking/oauth/test_dpop.py"
_MTLS = "openbanking/oauth/test_mutual_tls.py"
_OUTBOUND = "foundation/http/test_outbound.py"
_SIGNED = "foundation/crypto/test_signed_jwts.py"

PARTS: Sequence[Part] = (
    Part(
        "5.2 Network layer",
        (
            Clause(
                "5.2.1-1",
                "All endpoints use TLS, and connections to other servers, too",
                "Outside the local stage `PUBLIC_URL` and `MTLS_URL` are https, and so is every address that the "
                "service calls or redirects to",
                (
                    "foundation/test_settings.py::test_outside_the_local_stage_the_public_address_is_required_and_https",
                    "foundation/http/test_addresses.py::test_plain_and_private_addresses_are_good_in_the_local_stage_only",
                ),
            ),
            Clause(
                "5.2.1-2",
                "TLS 1.2 or later",
                "API Gateway's security policy `TLS_1_2`; the local stack with `TLS=1` accepts 1.2 and 1.3",
                ("infra/local/test_tls.py::test_older_versions_of_tls_are_refused",),
            ),
            Clause(
                "5.2.1-5",
                "Servers' certificates are checked",
                "Calls to banks, Events URLs and `jwks_uri` verify chain and host name",
                (
                    f"{_OUTBOUND}::test_a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent",
                    f"{_OUTBOUND}::test_a_name_that_the_certificate_does_not_have_is_refused",
                ),
            ),
            Clause(
                "5.2.2.1",
                "With mutual TLS, the metadata may name the endpoints' aliases",
                "`mtls_endpoint_aliases` name every endpoint below `MTLS_URL`",
                (f"{_METADATA}::test_a_stage_with_mutual_tls_publishes_its_addresses",),
            ),
            Clause(
                "5.2.3-1",
                "Browsers' connections cannot be downgraded",
                "Every response outside the local stage has `Strict-Transport-Security` for a year",
                ("test_security_headers.py::test_every_answer_of_an_https_stage_has_browsers_come_by_https_again",),
            ),
            Clause(
                "5.2.3-3",
                "No CORS at the authorization endpoint",
                "No response has `Access-Control-…` headers",
                (f"{_CLAUSES}::test_no_other_origin_may_call_the_authorization_endpoint",),
            ),
        ),
        "The operator provides the rest: API Gateway's policy restricts the cipher suites (5.2.1-3, 5.2.2, 5.2.3-2), "
        "and DNSSEC (5.2.1-4) is a setting of the domain.",
    ),
    Part(
        "5.3.2.1 General requirements of authorization servers",
        (
            Clause(
                "5.3.2.1-1",
                "Publish metadata",
                "`/.well-known/oauth-authorization-server` (RFC 8414)",
                (f"{_METADATA}::test_the_metadata_names_every_endpoint_method_and_algorithm",),
            ),
            Clause(
                "5.3.2.1-2",
                "Refuse the password grant",
                "`authorization_code` and `refresh_token` are the only grants",
                (f"{_CLAUSES}::test_no_other_grant_is_accepted",),
            ),
            Clause(
                "5.3.2.1-3",
                "Confidential clients only",
                "The profile cannot be set for a client without a key",
                (f"{_CLAUSES}::test_a_client_without_a_key_cannot_have_the_profile",),
            ),
            Clause(
                "5.3.2.1-4",
                "Sender-constrained access tokens only",
                "No token is issued without a proof or certificate; unbound tokens from before are refused",
                (
                    f"{_PROFILE}::test_tokens_are_bound",
                    f"{_CLAUSES}::test_unbound_tokens_from_before_the_profile_are_refused",
                ),
            ),
            Clause(
                "5.3.2.1-5",
                "Constrained by DPoP or mutual TLS",
                "DPoP, or with `--bound-tokens certificate` the certificate",
                (
                    f"{_DPOP}::test_a_bound_token_is_used_with_a_proof_of_any_allowed_algorithm",
                    f"{_MTLS}::test_a_token_is_bound_to_the_certificate",
                ),
            ),
            Clause(
                "5.3.2.1-6",
                "Clients authenticate by mutual TLS or `private_key_jwt`",
                "`tls_client_auth` or `private_key_jwt`, on every call without a token",
                (
                    f"{_JWT}::test_a_client_with_a_key_needs_an_assertion_on_every_call_without_a_bearer",
                    f"{_MTLS}::test_a_client_authenticates_with_its_certificate",
                ),
            ),
            Clause(
                "5.3.2.1-7",
                "No open redirector",
                "Browsers are sent to the client's registered Callback URLs only, compared character by character",
                (
                    "openbanking/flows/test_authorization.py::test_nobody_is_sent_to_an_address_that_is_not_registered",
                    f"{_PAR}::test_a_callback_url_that_was_dropped_meanwhile_is_not_used",
                ),
            ),
            Clause(
                "5.3.2.1-8",
                "`aud` of an assertion is the issuer, as one string",
                "Neither a list nor the endpoint's address is accepted",
                (
                    f"{_JWT}::test_called_and_token_endpoint_are_audiences_outside_the_profile_only",
                    f"{_JWT}::test_an_assertion_with_a_wrong_claim_is_refused",
                ),
            ),
            Clause(
                "5.3.2.1-9",
                "No rotation of refresh tokens",
                "A refresh returns the same refresh token",
                (f"{_PROFILE}::test_a_refresh_answers_the_same_refresh_token",),
            ),
            Clause(
                "5.3.2.1-10",
                "Nonces for DPoP may be used",
                "Offered on every response to a proof, demanded of clients with `--dpop-nonce`",
                (
                    f"{_DPOP}::test_a_client_may_have_to_use_a_nonce",
                    f"{_DPOP}::test_an_answer_to_a_proof_always_has_a_nonce",
                ),
            ),
            Clause(
                "5.3.2.1-11",
                "Codes live 60 seconds at most",
                "60 s, also in the local stage",
                (f"{_PROFILE}::test_a_code_lives_for_60_seconds_in_every_stage",),
            ),
            Clause(
                "5.3.2.1-12",
                "Codes can be bound to the DPoP key",
                "By `dpop_jkt`, or by a proof at `POST /oauth/par`",
                (f"{_PAR}::test_dpop_jkt_binds_the_code_to_its_key", f"{_PAR}::test_a_proof_binds_the_code_to_its_key"),
            ),
            Clause(
                "5.3.2.1-13",
                "`iat` and `nbf` up to 10 s in the future are accepted, more than 60 s are not",
                "Up to 60 s are accepted, in assertions and proofs",
                (
                    f"{_JWT}::test_a_clock_that_is_ahead_by_up_to_60_seconds_is_accepted",
                    f"{_DPOP}::test_a_proof_is_accepted_for_five_minutes",
                ),
            ),
            Clause(
                "5.3.2.1-14",
                "Access tokens have the least privileges",
                "A token has the scopes and accounts that the PSU approved, at one bank",
                (
                    "openbanking/flows/test_tpp_authentication.py::test_a_scope_that_is_missing_is_told_as_such",
                    "openbanking/flows/test_tokens.py::test_a_consent_is_described_to_its_tpp",
                ),
            ),
        ),
    ),
    Part(
        "5.3.2.2 Authorization endpoint flows",
        (
            Clause(
                "5.3.2.2-1",
                "`response_type` is `code`",
                "Others are refused",
                (f"{_CLAUSES}::test_only_the_response_type_code_can_be_pushed",),
            ),
            Clause(
                "5.3.2.2-2",
                "Clients can push their requests",
                "`POST /oauth/par` (RFC 9126)",
                (f"{_PAR}::test_a_pushed_request_leads_to_the_bank",),
            ),
            Clause(
                "5.3.2.2-3",
                "Requests that were not pushed are refused",
                "At `GET /oauth/authorize` and `POST /tpp/authorize`",
                (f"{_PROFILE}::test_a_request_that_is_not_pushed_is_refused",),
            ),
            Clause(
                "5.3.2.2-4",
                "Pushing needs client authentication",
                "As every call without a token",
                (f"{_PAR}::test_a_client_proves_itself_when_it_pushes",),
            ),
            Clause(
                "5.3.2.2-5",
                "PKCE with `S256`",
                "Mandatory in the request, and the verifier with the code",
                (
                    f"{_PROFILE}::test_redirect_uri_and_pkce_are_mandatory",
                    f"{_PROFILE}::test_only_s256_is_a_code_challenge",
                    f"{_CLAUSES}::test_a_code_needs_its_verifier_and_redirect_uri",
                ),
            ),
            Clause(
                "5.3.2.2-6",
                "`redirect_uri` is pushed",
                "Mandatory in the request, and with the code",
                (
                    f"{_PROFILE}::test_redirect_uri_and_pkce_are_mandatory",
                    f"{_PROFILE}::test_the_token_request_names_the_redirect_uri",
                ),
            ),
            Clause(
                "5.3.2.2-7",
                "`iss` in authorization responses",
                "After consent and after an error (RFC 9207)",
                (f"{_CLAUSES}::test_every_authorization_response_names_the_issuer",),
            ),
            Clause(
                "5.3.2.2-8",
                "Authorization responses are encrypted",
                "Callback URLs are https outside the local stage",
                (
                    "openbanking/records/test_clients.py::test_callback_urls_are_at_most_ten_good_and_different_addresses",
                    "foundation/http/test_addresses.py::test_plain_and_private_addresses_are_good_in_the_local_stage_only",
                ),
            ),
            Clause(
                "5.3.2.2-9",
                "A used code is refused",
                "A second use also ends the consent and its tokens",
                (f"{_PROFILE}::test_a_code_is_used_once",),
            ),
            Clause(
                "5.3.2.2-10, 11",
                "Browsers are not redirected with 307, but with 303",
                "Every redirect of an authorization is 303",
                (f"{_PROFILE}::test_redirects_are_303_and_answers_name_the_issuer",),
            ),
            Clause(
                "5.3.2.2-12",
                "A `request_uri` lives less than 600 seconds",
                "60 s",
                (f"{_PAR}::test_a_request_uri_lives_for_60_seconds",),
            ),
            Clause(
                "5.3.2.2-13",
                "Users learn who asks for what",
                "The bank, which asks the PSU, gets the TPP's title and registration number, and the scopes",
                (f"{_CLAUSES}::test_the_bank_learns_who_asks_for_what",),
            ),
        ),
        "5.3.2.2-14 and 5.3.2.3 are about OpenID Connect, which the service does not support.",
    ),
    Part(
        "5.3.4 Resource servers",
        (
            Clause(
                "5.3.4-1",
                "Access tokens are accepted in the header `Authorization`",
                "In the scheme `DPoP`, or `Bearer` if bound to a certificate",
                (f"{_DPOP}::test_a_bound_token_is_used_with_a_proof_of_any_allowed_algorithm",),
            ),
            Clause(
                "5.3.4-2",
                "Not in the query",
                "A token in the query counts as none",
                (f"{_PROFILE}::test_a_token_in_the_query_is_no_token",),
            ),
            Clause(
                "5.3.4-3",
                "Validity, integrity, expiry and revocation are verified",
                "With one strongly consistent read at every call",
                (
                    "openbanking/flows/test_tokens.py::test_an_access_token_lives_an_hour",
                    "openbanking/flows/test_tokens.py::test_a_tpp_ends_its_consent_with_either_token_on_the_very_next_call",
                ),
            ),
            Clause(
                "5.3.4-4",
                "Insufficient authorization is an error of RFC 6750",
                "403 with `insufficient_scope`",
                ("openbanking/flows/test_tpp_authentication.py::test_a_scope_that_is_missing_is_told_as_such",),
            ),
            Clause(
                "5.3.4-5",
                "Sender constraints are verified",
                "A bound token is refused without its key, and with another one",
                (
                    f"{_ATTACKS}::test_a_stolen_access_token_is_worth_nothing",
                    f"{_ATTACKS}::test_a_bound_token_is_not_downgraded",
                    f"{_MTLS}::test_a_token_is_bound_to_the_certificate",
                    f"{_DPOP}::test_a_proof_is_used_once",
                ),
            ),
        ),
    ),
    Part(
        "5.4 Cryptography and secrets",
        (
            Clause(
                "5.4.1-1.1",
                "JWTs follow RFC 8725",
                "Type, algorithm and audience are fixed; keys come from the record, or in proofs from a public `jwk`",
                (
                    f"{_DPOP}::test_a_proof_with_a_wrong_header_is_refused",
                    f"{_SIGNED}::test_a_public_key_is_never_a_secret",
                ),
            ),
            Clause(
                "5.4.1-1.2",
                "`PS256`, `ES256` or `EdDSA` (Ed25519)",
                "These, and `Ed25519` as the newer name of the last; RS256 is refused",
                (
                    f"{_JWT}::test_an_assertion_by_any_allowed_algorithm_authenticates",
                    f"{_SIGNED}::test_rs256_is_refused_though_the_key_fits",
                    f"{_DPOP}::test_a_proof_by_rs256_is_refused",
                ),
            ),
            Clause(
                "5.4.1-1.3",
                "Never `none`",
                "Refused in assertions and proofs",
                (
                    f"{_SIGNED}::test_a_token_without_a_signature_is_refused",
                    f"{_DPOP}::test_a_proof_that_anybody_could_make_is_refused",
                ),
            ),
            Clause(
                "5.4.1-2",
                "RSA keys have 2048 bits or more",
                "Shorter ones are refused",
                (f"{_SIGNED}::test_a_short_rsa_key_is_refused",),
            ),
            Clause(
                "5.4.1-3",
                "Elliptic curve keys have 224 bits or more",
                "P-256 and Ed25519 only",
                (f"{_SIGNED}::test_keys_that_must_not_be_used_are_refused",),
            ),
            Clause(
                "5.4.1-4",
                "Credentials have 128 random bits or more",
                "Codes, tokens and `request_uri` have 256",
                (f"{_CLAUSES}::test_credentials_have_256_random_bits",),
            ),
            Clause(
                "5.4.2",
                "`jwks_uri` is served over TLS, with each `kid` once and without `x5u` and `jku`",
                "`/.well-known/jwks.json` below `PUBLIC_URL`",
                (
                    f"{_CLAUSES}::test_the_key_set_has_each_kid_once_and_no_links",
                    "foundation/test_settings.py::test_outside_the_local_stage_the_public_address_is_required_and_https",
                ),
            ),
            Clause(
                "5.4.3",
                "Of several keys with one `kid`, the fitting one is found",
                "Each key that the `kid` names is tried, if it fits the algorithm",
                (f"{_CLAUSES}::test_of_keys_with_one_kid_the_one_that_fits_verifies",),
            ),
        ),
    ),
)
