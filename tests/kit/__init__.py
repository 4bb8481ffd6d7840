"""The kit of the tests: time, storage, HTTP, logs, processes and documents."""
