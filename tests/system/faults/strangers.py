"""A crowd of strangers, as a process of its own: `python strangers.py KIND HOST PORT COUNT`.

`tls` and `sasl` open COUNT connections, begin to say who they are and never go on; whoever is
thrown out comes again. `handshakes` makes COUNT whole TLS handshakes a second and leaves. The first
line of output says that they are there; the second, at the end of standard input, what they did.
"""

import asyncio
import os
import ssl
import sys
from contextlib import suppress
from time import monotonic

CLIENT_HELLO = b"\x16\x03\x01\x02\x00\x01"  # of TLS, up to the middle of its length
HANDSHAKE = b"\x00\x00\x00\x1c\x00\x11"  # of SASL: a frame that ends after its API's key
BATCH = 100


class Crowd:
    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.opened = self.failed = 0

    async def linger(self, beginning: bytes) -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection(self.host, self.port)
            except OSError:
                self.failed += 1
                await asyncio.sleep(0.5)
                continue
            self.opened += 1
            with suppress(OSError):
                writer.write(beginning)
                await reader.read()
            writer.close()

    async def shake_hands(self, context: ssl.SSLContext) -> None:
        try:
            async with asyncio.timeout(30):
                _, writer = await asyncio.open_connection(self.host, self.port, ssl=context)
        except (OSError, TimeoutError):
            self.failed += 1
            return
        self.opened += 1
        writer.transport.abort()

    async def linger_all(self, beginning: bytes, count: int) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(self.linger(beginning))
                if number % BATCH == BATCH - 1:
                    await asyncio.sleep(0.05)
            await asyncio.sleep(1)
            print("there", flush=True)

    async def shake_hands_at(self, rate: int) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        print("there", flush=True)
        began, count = monotonic(), 0
        async with asyncio.TaskGroup() as group:
            while True:
                while count < (monotonic() - began) * rate:
                    count += 1
                    group.create_task(self.shake_hands(context))
                await asyncio.sleep(0.005)


async def main(kind: str, host: str, port: str, count: str) -> None:
    crowd = Crowd(host, int(port))
    work = {
        "tls": lambda: crowd.linger_all(CLIENT_HELLO, int(count)),
        "sasl": lambda: crowd.linger_all(HANDSHAKE, int(count)),
        "handshakes": lambda: crowd.shake_hands_at(int(count)),
    }[kind]
    task = asyncio.create_task(work())
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    assert not task.done()
    print(crowd.opened, crowd.failed, flush=True)
    os._exit(0)  # thousands of them would take their time


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
