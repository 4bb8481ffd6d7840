"""Writes the parts of the SDK in ``sdk/src/causeway`` that follow from the OpenAPI documents, and its synchronous half."""
