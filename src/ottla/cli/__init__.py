"""The command line. Tools speak to brokers as clients do; only `start` touches the server."""
