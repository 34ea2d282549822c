"""For the tests of those who use Ottla: a real broker in a process, and data to run through it.

Nothing here imports the server; it is started as a user would start it.
"""
