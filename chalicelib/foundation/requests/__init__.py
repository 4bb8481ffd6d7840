"""One way through a request: read, decide, write; whoever comes second decides again."""
