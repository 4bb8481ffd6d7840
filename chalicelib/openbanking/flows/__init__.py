"""The flows between TPPs, PSUs and banks: authorization, tokens, data requests and payments."""
