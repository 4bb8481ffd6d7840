"""The user's choice of a bank, for an authorization request that names no bank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Self

from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.openbanking.flows.bank.directory import is_found
from chalicelib.openbanking.protocol.scopes import Scope
from chalicelib.openbanking.protocol.tpp_calls import BankSearchQuery
from chalicelib.openbanking.protocol.versions import scope_tables
from chalicelib.openbanking.records.authorization_requests import NewAuthorizationRequest, with_query
from chalicelib.openbanking.records.bank_logos import logo_path
from chalicelib.openbanking.records.bank_record import Bank, sort_by_name
from chalicelib.openbanking.records.banks import Banks
from chalicelib.openbanking.records.client_record import Client
from chalicelib.statistics.downtimes import OpenDowntimes


@dataclass(frozen=True, slots=True)
class BankSearch:
    """A user's search for a bank: the raw parameters, the parsed query, and the ``errors`` by parameter."""

    given: Mapping[str, str] = field(default_factory=dict)
    query: BankSearchQuery = field(default_factory=BankSearchQuery)
    errors: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> Self:
        """Read the search parameters in a query that also has other parameters. Empty parameters count as absent."""
        texts = {name: parameters.get(name, "").strip() for name in BankSearchQuery.model_fields}
        given = {name: text for name, text in texts.items() if text}
        try:
            return cls(given, BankSearchQuery.read(given))
        except InvalidMessage as error:
            return cls(given, errors={problem.field: problem.reason for problem in error.problems})


@dataclass(frozen=True, slots=True)
class OfferedBank:
    """A bank that the user can choose. ``logo`` is the path of its logo."""

    bic: str
    name: str
    country: str
    logo: str | None
    is_reachable: bool


@dataclass(frozen=True, slots=True)
class BankChoice:
    """An authorization request for which the user has not chosen a bank yet.

    Attributes:
        client_title: the application that sent the request.
        scopes: the requested scopes.
        parameters: the query that leads back to the choice and, with ``chosen_bic``, to a bank.
        cancel_url: the Callback URL with the error ``access_denied``.
        countries: the countries of all banks that offer the scopes, empty if no bank does.
        banks: the banks that match the search, ordered by name, or none if the search has errors.
    """

    client_title: str
    scopes: Sequence[Scope]
    is_one_time: bool
    parameters: Mapping[str, str]
    cancel_url: str
    search: BankSearch
    countries: Sequence[str]
    banks: Sequence[OfferedBank]


def offer_banks(
    client: Client,
    new: NewAuthorizationRequest,
    query: Mapping[str, str],
    *,
    parameters: Mapping[str, str],
    public_url: str,
    banks: Banks,
    open_downtimes: OpenDowntimes,
) -> BankChoice:
    """Return the banks that provide all scopes of a validated request and match the search. The request is not stored.

    Args:
        public_url: the service's address.
    """
    search = BankSearch.read(query)
    offering = [bank for bank in banks.directory() if bank.provides(new.named_scopes)]
    found = sort_by_name(bank for bank in offering if _matches(bank, search))
    down = open_downtimes.bics()
    return BankChoice(
        client_title=client.title,
        scopes=_scopes(new.named_scopes),
        is_one_time=new.consent_type == "one_time",
        parameters=parameters,
        cancel_url=_cancel_url(new, public_url),
        search=search,
        countries=sorted({bank.country for bank in offering}),
        banks=[_offered(bank, is_reachable=bank.bic not in down) for bank in found],
    )


def _cancel_url(new: NewAuthorizationRequest, public_url: str) -> str:
    """Return the Callback URL to use if the user chooses no bank (RFC 6749 §4.1.2.1, RFC 9207)."""
    outcome = {"error": "access_denied", "error_description": "The user chose no bank"}
    state = {"state": new.state} if new.returns_state else {}
    return with_query(new.redirect_uri, {**outcome, **state, "iss": public_url})


def _matches(bank: Bank, search: BankSearch) -> bool:
    return not search.errors and is_found(bank, search.query)


def _offered(bank: Bank, *, is_reachable: bool) -> OfferedBank:
    return OfferedBank(bank.bic, bank.name, bank.country, logo_path(bank.bic, bank.logo_digest), is_reachable)


def _scopes(names: Sequence[str]) -> list[Scope]:
    """Return the requested scopes, in the order of the first table that has all of them."""
    table = next(table for table in scope_tables() if set(names) <= set(table))
    return [scope for name, scope in table.items() if name in names]
