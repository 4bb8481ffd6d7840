"""Reports, page by page: activity, transactions and addendums."""
