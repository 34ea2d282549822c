"""The entry point: `start` goes straight to the server, everything else to the tools.

A broker should serve within a fraction of a second, so `start` must not pay for the libraries
that draw tables and parse commands. What it does not understand at once (a typing mistake,
`--help`) falls through to the full command line, which explains it.
"""

import sys


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["start"]:
        from ottla.cli.start import parse, start

        asked = parse(arguments[1:])
        if asked is not None:
            sys.exit(start(asked))
    from ottla.cli.app import run

    run()
