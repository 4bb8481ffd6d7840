"""A client's authentication settings, with names from RFC 7591, 8705, 9126 and 9449, and their rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any, Self

from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.protocol.oauth_security import AuthMethod, SecurityProfile

SECRET_METHODS: tuple[AuthMethod, ...] = ("client_secret_basic", "client_secret_post")
_KEY_SETS = ("jwks", "jwks_uri")
_OF_METHOD = (*_KEY_SETS, "tls_client_auth_subject_dn")
"""The settings that each authentication method uses."""
_ORGANIZATION = re.compile(r"PSD[A-Z]{2}-[A-Z]{2,8}-[!-~]{1,100}")
_BINDINGS = ("dpop_bound_access_tokens", "tls_client_certificate_bound_access_tokens")
_KEY_METHODS: tuple[AuthMethod, ...] = ("private_key_jwt", "tls_client_auth")


class InvalidSecurity(ValueError):
    """A setting is invalid or incompatible with another. ``member`` is its name, and the message gives the reason."""

    def __init__(self, member: str, message: str) -> None:
        self.member = member
        super().__init__(message)


@dataclass(frozen=True)
class ClientSecurity:
    """A client's security settings.

    Attributes:
        auth_method: ``token_endpoint_auth_method`` (RFC 7591). It is ``None`` for clients that send their secret, if
            any, by either method.
        jwks, jwks_uri: the public keys of ``private_key_jwt``: a key set, or its address.
        tls_client_auth_subject_dn: the subject of the client's certificate (RFC 4514).
        organization_identifier: the identifier in the PSD2 certificate that every call needs (ETSI TS 119 495,
            ``PSDGB-FCA-…``).
        require_pushed_authorization_requests: whether requests must be pushed (RFC 9126 §6).
        dpop_bound_access_tokens: whether tokens need a DPoP proof (RFC 9449 §5.2).
        tls_client_certificate_bound_access_tokens: whether tokens are bound to the certificate (RFC 8705 §3.4).
        dpop_nonce_required: whether proofs need a nonce of this service.
        security_profile: ``fapi2`` applies the requirements of the FAPI 2.0 Security Profile.
    """

    auth_method: AuthMethod | None = None
    jwks: Mapping[str, Any] | None = None
    jwks_uri: str | None = None
    tls_client_auth_subject_dn: str | None = None
    organization_identifier: str | None = None
    require_pushed_authorization_requests: bool = False
    dpop_bound_access_tokens: bool = False
    tls_client_certificate_bound_access_tokens: bool = False
    dpop_nonce_required: bool = False
    security_profile: SecurityProfile | None = None

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> Self:
        """Build the settings from their item. Settings of newer releases are omitted."""
        return cls(**{name: value for name, value in item.items() if name in cls.__dataclass_fields__})

    def as_item(self) -> dict[str, Any]:
        """Return the members to store, without default values."""
        return {name: value for name, value in asdict(self).items() if value not in (None, False)}

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """Return the settings with ``changes``. A new authentication method or new keys replace the previous method or
        keys.
        """
        replaced: dict[str, Any] = {}
        if changes.get("auth_method", self.auth_method) != self.auth_method:
            replaced = dict.fromkeys(_OF_METHOD)
        if any(changes.get(name) is not None for name in _KEY_SETS):
            replaced |= dict.fromkeys(_KEY_SETS)
        return replace(self, **(replaced | dict(changes)))

    @property
    def is_fapi2(self) -> bool:
        return self.security_profile == "fapi2"

    @property
    def uses_key(self) -> bool:
        """Whether the client authenticates with a private key instead of a secret."""
        return self.auth_method in _KEY_METHODS

    @property
    def allows_secret(self) -> bool:
        return self.auth_method in (None, *SECRET_METHODS)

    @property
    def needs_certificate(self) -> bool:
        """Whether the client needs a certificate, to authenticate or to be identified at every call."""
        return self.auth_method == "tls_client_auth" or self.organization_identifier is not None

    @property
    def requires_pushed_requests(self) -> bool:
        return self.require_pushed_authorization_requests or self.is_fapi2

    @property
    def starts_in_browser(self) -> bool:
        """Whether authorization requests may come from a browser, which has neither key nor certificate."""
        return not self.requires_pushed_requests and self.organization_identifier is None

    @property
    def requires_proof(self) -> bool:
        """Whether tokens are issued only with a DPoP proof."""
        return self.dpop_bound_access_tokens or (self.is_fapi2 and not self.tls_client_certificate_bound_access_tokens)

    @property
    def needs_key(self) -> bool:
        """Whether tokens can be requested only with a private key, which only the client's application has."""
        return self.uses_key or self.needs_certificate or self.requires_bound_tokens

    @cached_property
    def requires_bound_tokens(self) -> bool:
        return self.requires_proof or self.tls_client_certificate_bound_access_tokens


def check_security(security: ClientSecurity, *, is_sandbox: bool, takes_certificates: bool) -> None:
    """Check that a client's settings are compatible with each other and with the stage.

    Args:
        is_sandbox: whether clients may omit both secret and key.
        takes_certificates: whether the stage has ``MTLS_URL``.

    Raises:
        InvalidSecurity: with the setting and the reason.
    """
    _check_method(security, is_sandbox)
    _check_keys(security)
    _check_certificates(security, takes_certificates)
    _check_binding(security)
    if security.is_fapi2 and not security.uses_key:
        raise InvalidSecurity(
            "security_profile", "the profile fapi2 needs the authentication method private_key_jwt or tls_client_auth"
        )


def check_profile(security: ClientSecurity, changes: Mapping[str, Any]) -> None:
    """Refuse ``changes`` that remove a requirement of ``security``'s profile. Raises: InvalidSecurity."""
    if not security.is_fapi2:
        return
    if changes.get("require_pushed_authorization_requests") is False:
        raise InvalidSecurity(
            "require_pushed_authorization_requests", "the profile fapi2 demands that requests are pushed"
        )
    if all(changes.get(name) is False for name in _BINDINGS):
        raise InvalidSecurity("dpop_bound_access_tokens", "the profile fapi2 demands that tokens are bound to a key")


def _check_method(security: ClientSecurity, is_sandbox: bool) -> None:
    if security.auth_method == "none" and not is_sandbox:
        raise InvalidSecurity("auth_method", "the method none is available in sandbox stages only")


def _check_keys(security: ClientSecurity) -> None:
    given = [name for name in _KEY_SETS if getattr(security, name) is not None]
    if security.auth_method == "private_key_jwt" and len(given) != 1:
        raise InvalidSecurity("jwks", "the method private_key_jwt needs one key set, or its URL")
    if security.auth_method != "private_key_jwt" and given:
        raise InvalidSecurity(given[0], "a key set can only be used with the method private_key_jwt")
    if security.jwks is not None:
        _check_key_set(security.jwks)


def _check_key_set(jwks: Mapping[str, Any]) -> None:
    from chalicelib.foundation.crypto.signed_jwts import InvalidKeySet, import_key_set

    try:
        import_key_set(jwks)
    except InvalidKeySet as error:
        raise InvalidSecurity("jwks", str(error)) from None


def _check_certificates(security: ClientSecurity, takes_certificates: bool) -> None:
    by_certificate = security.auth_method == "tls_client_auth"
    if security.tls_client_auth_subject_dn is not None and not by_certificate:
        raise InvalidSecurity(
            "tls_client_auth_subject_dn", "a certificate's subject can only be used with the method tls_client_auth"
        )
    _check_names(security)
    if by_certificate and security.tls_client_auth_subject_dn is None and security.organization_identifier is None:
        raise InvalidSecurity(
            "tls_client_auth_subject_dn",
            "the method tls_client_auth needs the certificate's subject or organization identifier",
        )
    if not takes_certificates and (security.needs_certificate or security.tls_client_certificate_bound_access_tokens):
        raise InvalidSecurity(
            "auth_method",
            "this stage takes no client certificates: MTLS_URL is not set (in the local stage: make run TLS=1)",
        )


def _check_names(security: ClientSecurity) -> None:
    """Check names that are compared with certificates. A name that no certificate can have would make the client
    unusable.
    """
    from chalicelib.foundation.crypto.certificates import same_subject

    subject, organization = security.tls_client_auth_subject_dn, security.organization_identifier
    if subject is not None and not same_subject(subject, subject):
        raise InvalidSecurity(
            "tls_client_auth_subject_dn",
            "the certificate's subject must be a name as RFC 4514 writes it: CN=tpp.example.com,O=TPP,C=GB",
        )
    if organization is not None and not _ORGANIZATION.fullmatch(organization):
        raise InvalidSecurity(
            "organization_identifier",
            "the organization identifier must be that of a PSD2 certificate: PSDGB-FCA-123456 (ETSI TS 119 495)",
        )


def _check_binding(security: ClientSecurity) -> None:
    if security.tls_client_certificate_bound_access_tokens and security.dpop_bound_access_tokens:
        raise InvalidSecurity(
            "dpop_bound_access_tokens", "tokens are bound to a DPoP key or to a certificate, not to both"
        )
    if security.tls_client_certificate_bound_access_tokens and security.dpop_nonce_required:
        raise InvalidSecurity(
            "dpop_nonce_required", "tokens that are bound to a certificate need no proofs, and so no nonces"
        )
