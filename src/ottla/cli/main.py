"""The entry point: servers are started straight, all else goes to the tools.

A server should serve within a fraction of a second, so its start must not pay for the libraries
that draw tables and parse commands. What it does not understand at once (a typing mistake,
`--help`) falls through to the full command line, which explains it.
"""

import sys


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:2] == ["registry", "start"]:
        from ottla.cli import registry_start

        registry = registry_start.parse(arguments[2:])
        if registry is not None:
            sys.exit(registry_start.start(registry))
    if arguments[:2] == ["connect", "start"]:
        from ottla.cli import connect_start

        connect = connect_start.parse(arguments[2:])
        if connect is not None:
            sys.exit(connect_start.start(connect))
    if arguments[:1] in (["start"], ["cluster"]) and "--registry" in arguments:
        from ottla.cli.registry_child import with_port

        sys.argv[1:] = arguments = with_port(arguments)
    if arguments[:1] == ["start"]:
        from ottla.cli.start import parse, start

        asked = parse(arguments[1:])
        if asked is not None:
            sys.exit(start(asked))
    from ottla.cli.app import run

    run()
