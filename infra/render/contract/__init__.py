"""The contract of the APIs as lines, and the changes of it that the changelog has to name."""
