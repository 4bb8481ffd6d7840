"""The page on which a user chooses the bank for an authorization request without ``bic``."""

from __future__ import annotations

from chalice.app import Response

from chalicelib.foundation.fields.registries import country_names
from chalicelib.openbanking.flows.bank.choice import BankChoice
from chalicelib.website.container import WebsiteContainer
from chalicelib.website.pages import public_page
from chalicelib.website.pagination import paginate


def bank_choice_page(website: WebsiteContainer, choice: BankChoice) -> Response:
    """``GET /oauth/authorize`` without ``bic``: list the banks that match the search, 20 per page."""
    names, search = country_names(), choice.search
    return public_page(
        website,
        "bank_choice.html",
        status=400 if search.errors else 200,
        leads_to=(choice.cancel_url,),
        choice=choice,
        given={name: search.given.get(name, "") for name in ("q", "country")},
        errors={name: f"{reason[:1].upper()}{reason[1:]}." for name, reason in search.errors.items()},
        parameters=choice.parameters,
        part=paginate(choice.banks, str(search.query.page)),
        countries=sorted(((code, names.get(code, code)) for code in choice.countries), key=lambda each: each[1]),
        country_names=names,
    )
