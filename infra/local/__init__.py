"""The one-machine stack that ``make run`` starts: emulator, resources, HTTP server, queue consumers, schedules and
initial data.
"""
