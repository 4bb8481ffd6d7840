"""Makes releases: updates the sections of the changelogs, and performs the mechanical steps of a release."""
