"""A mypy plugin for field types, which treats ``AN[18]`` as a string and ``N[20]`` as a number."""

from collections.abc import Callable

from mypy.plugin import AnalyzeTypeContext, Plugin
from mypy.types import Type

_FIELDS = {
    "chalicelib.openbanking.protocol.fields.AN": "builtins.str",
    "chalicelib.openbanking.protocol.fields.A": "builtins.str",
    "chalicelib.openbanking.protocol.fields.N": "builtins.object",
    "chalicelib.openbanking.protocol.fields.Name": "builtins.str",
    "chalicelib.openbanking.protocol.fields.PayeeName": "builtins.str",
    "chalicelib.openbanking.protocol.fields.Text": "builtins.str",
    "chalicelib.openbanking.protocol.fields.Digits": "builtins.object",
    "chalicelib.openbanking.protocol.fields.Id": "builtins.str",
    "chalicelib.openbanking.protocol.fields.Amount": "builtins.object",
    "chalicelib.openbanking.protocol.fields.Country": "builtins.str",
    "chalicelib.openbanking.protocol.fields.Currency": "builtins.str",
    "chalicelib.openbanking.protocol.fields.Whole": "builtins.int",
    "chalicelib.openbanking.protocol.bank_identifiers.BankId": "builtins.str",
    "chalicelib.openbanking.protocol.bank_identifiers.BankNumber": "builtins.object",
    "chalicelib.cards.protocol.fields.N": "builtins.int",
    "chalicelib.cards.protocol.fields.Range": "builtins.int",
    "chalicelib.cards.protocol.fields.Digits": "builtins.str",
    "chalicelib.cards.protocol.fields.AN": "builtins.str",
    "chalicelib.cards.protocol.fields.A": "builtins.str",
    "chalicelib.cards.protocol.fields.ANS": "builtins.str",
    "chalicelib.cards.protocol.fields.AS": "builtins.str",
}
_LISTS = {
    "chalicelib.cards.protocol.fields.ExtList": "builtins.int",
    "chalicelib.cards.protocol.fields.Beside": "builtins.int",
}


class FieldsPlugin(Plugin):
    """Resolves a field type with a length in brackets to a Python type."""

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        if fullname in _LISTS:
            return lambda context: context.api.named_type(
                "builtins.tuple", [context.api.named_type(_LISTS[fullname], [])]
            )
        if fullname not in _FIELDS:
            return None
        return lambda context: context.api.named_type(_FIELDS[fullname], [])


def plugin(version: str) -> type[Plugin]:
    return FieldsPlugin
