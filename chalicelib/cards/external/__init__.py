"""External payments: bank-account details that lead to accounts, and money that leaves and comes by them."""
