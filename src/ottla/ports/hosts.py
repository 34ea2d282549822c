"""Names of hosts, as the system's resolver knows them."""

import asyncio
import socket


async def is_known_host(name: str) -> bool:
    """An address is known as it is."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return bool(found)
