"""Deployment tests: Chalice deploys to an emulator, and the zip files run in an empty environment."""
