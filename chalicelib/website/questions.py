"""Questions before an action that is hard to undo."""

from __future__ import annotations

from chalicelib.foundation.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """The texts of a question.

    Attributes:
        afterwards: whether and how it can be undone.
        button: the label of the button that confirms it.
        keep: the label of the link that leads back.
    """

    title: str
    what: str
    afterwards: str
    button: str
    keep: str


def end_consent_question(client_title: str, bank_name: str) -> Question:
    return Question(
        title="End this consent?",
        what=f"{client_title} loses its access at {bank_name} immediately, and the bank is notified.",
        afterwards="This cannot be undone: new access requires the PSU's approval at the bank.",
        button="End the consent",
        keep="Keep it",
    )
