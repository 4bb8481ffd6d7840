"""Test helpers for time, storage, HTTP, logs, processes and documents."""
