"""What happens between TPPs, PSUs and banks: authorization, tokens, reads, payments."""
