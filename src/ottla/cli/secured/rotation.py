"""New certificates for the nodes of a secured cluster; or, in three steps, a new authority.

A certificate of a new authority is shown only when everybody believes that authority: first both
are believed, then nodes are signed by the new one, then the old one is forgotten. Between the steps
the files are brought to nodes and clients, and nodes have read them.
"""

from datetime import UTC, datetime
from pathlib import Path

from ottla.cli.secured.home import clients_addresses
from ottla.cli.secured.options import KEYSTORE, TRUSTSTORE
from ottla.cli.secured.vault import Vault, write_private
from ottla.errors import OttlaError
from ottla.security.authority import KeyPair, describe, new_authority, new_node

NEXT, NEXT_KEY = "next-authority.pem", "next-authority.key"


def rotate_nodes(vault: Vault, files: list[Path]) -> str:
    """The same names, the same authority, new keys."""
    for file in files:
        _sign(vault, file.parent)
    return f"New keys and certificates: {', '.join(file.parent.name for file in files)}."


def rotate_authority(vault: Vault, files: list[Path]) -> str:
    """The next of the three steps; what was done, and what comes then."""
    coming = vault.folder / NEXT
    if coming.exists():
        vault.replace_authority(KeyPair(coming.read_text(), (vault.folder / NEXT_KEY).read_text()))
        for name in (NEXT, NEXT_KEY):
            (vault.folder / name).unlink()
        rotate_nodes(vault, files)
        return (
            "Step 2 of 3: nodes have certificates of the new authority. When all of them have read "
            f"their {KEYSTORE}, run this again: the old authority will be forgotten."
        )
    if len(describe(vault.trusted)) > 1:
        _believe(vault, files, vault.authority().certificate)
        return "Step 3 of 3: only the new authority is believed."
    new = new_authority(datetime.now(UTC))
    write_private(vault.folder / NEXT_KEY, new.key)
    _believe(vault, files, vault.trusted + new.certificate)
    write_private(coming, new.certificate)
    return (
        f"Step 1 of 3: a new authority is believed beside the old one. Bring {TRUSTSTORE} to all "
        "nodes, the client files to all clients, and run this again."
    )


def _believe(vault: Vault, files: list[Path], trusted: str) -> None:
    write_private(vault.trusted_file, trusted)
    for file in files:
        write_private(file.parent / TRUSTSTORE, trusted)
    vault.renew_client_files(clients_addresses(files))


def _sign(vault: Vault, folder: Path) -> None:
    keystore = folder / KEYSTORE
    own = describe(keystore.read_text())[0]
    node = own.subject.partition("CN=node-")[2].partition(",")[0]
    if not node.isdecimal():
        raise OttlaError(f"{keystore} names no node of Ottla's: {own.subject}.")
    new = new_node(vault.authority(), int(node), sorted(own.names), datetime.now(UTC))
    write_private(keystore, new.chained)
