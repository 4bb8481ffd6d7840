"""The public page of a bank: its properties, its availability today, and tools for its engineers."""

from __future__ import annotations

from chalice.app import Response

from chalicelib.foundation.fields.registries import country_names
from chalicelib.openbanking.flows.bank.directory import describe_bank
from chalicelib.openbanking.records.bank_record import Bank
from chalicelib.statistics.call_counts import MAIN_PERCENTILE
from chalicelib.website.banks.bank_text import describe_switches, history_text, unattended_text, unified_scopes_of
from chalicelib.website.pages import Visit, not_found_page, page


def show_bank(visit: Visit) -> Response:
    """``GET /banks/{bic}``: show an active bank, as ``GET /tpp/banks/{bic}`` describes it."""
    bank = find_bank(visit)
    if bank is None:
        return not_found_page(visit)
    entry = visit.website.call_hub(describe_bank, bank.bic)
    return page(
        visit,
        "bank.html",
        bank=entry,
        country=country_names().get(bank.country, bank.country),
        scopes=[(scope, unified_scopes_of(scope.name, entry)) for scope in bank.scopes],
        history=history_text(entry),
        unattended=unattended_text(bank.unattended_reads),
        switches=describe_switches(bank, entry),
        today=visit.website.statistics.today.of_bank(bank.bic),
        main_percentile=MAIN_PERCENTILE,
        conformance=bank.current_report,
    )


def find_bank(visit: Visit) -> Bank | None:
    """Return the active bank in the page's path; the case of the BIC is ignored."""
    return visit.website.openbanking.banks.find(visit.incoming.uri["bic"].upper())
