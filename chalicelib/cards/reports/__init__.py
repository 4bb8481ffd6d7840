"""Reports with pages: activity, transactions and addendums."""
