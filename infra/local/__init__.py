"""The one-machine stack behind ``make run``: emulator, resources, HTTP server, queue consumers, schedules, seed."""
