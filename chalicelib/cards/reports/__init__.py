"""Reports: what happened, page by page: activity, transactions, and what the network told of them afterwards."""
