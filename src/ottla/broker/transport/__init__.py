"""Sockets of clients: listeners, connections, their memory, replies on their way."""
