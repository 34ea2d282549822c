"""A provider of signed tokens: its keys are served by HTTP on the loopback, and counted."""

import json
import threading
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

ISSUER, AUDIENCE = "https://provider.test", "kafka"


class Provider:
    def __init__(self) -> None:
        self.asked = 0
        self.granted: list[str] = []
        self._private: dict[str, tuple[str, Any]] = {}
        self.url = ""
        self.add_key("key-1")

    def add_key(self, key_id: str, algorithm: str = "RS256") -> None:
        key: Any = (
            rsa.generate_private_key(public_exponent=65537, key_size=2048)
            if algorithm.startswith(("RS", "PS"))
            else ec.generate_private_key(ec.SECP256R1())
        )
        self._private[key_id] = algorithm, key

    def key_set(self) -> bytes:
        keys = []
        for key_id, (algorithm, key) in self._private.items():
            kind: Any = RSAAlgorithm if algorithm.startswith(("RS", "PS")) else ECAlgorithm
            public = json.loads(kind.to_jwk(key.public_key()))
            keys.append({**public, "kid": key_id, "alg": algorithm, "use": "sig"})
        return json.dumps({"keys": keys}).encode()

    def public_key(self, key_id: str = "key-1") -> Any:
        return self._private[key_id][1].public_key()

    def token(
        self,
        name: str,
        *,
        key_id: str = "key-1",
        said_key_id: str | None = None,
        lifetime_s: float = 60,
        **claims: Any,
    ) -> str:
        algorithm, key = self._private[key_id]
        now = time()
        said: dict[str, Any] = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": name,
            "iat": int(now),
            "exp": int(now + lifetime_s),
            **claims,
        }
        said = {claim: value for claim, value in said.items() if value is not None}
        header = {"kid": said_key_id or key_id}
        return jwt.encode(said, key, algorithm=algorithm, headers=header)

    def unsigned(self, name: str) -> str:
        now = int(time())
        said = {"iss": ISSUER, "aud": AUDIENCE, "sub": name, "iat": now, "exp": now + 60}
        return ".".join((_part({"alg": "none", "kid": "key-1"}), _part(said), ""))


def _part(value: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@contextmanager
def running_provider() -> Iterator[Provider]:
    """`/keys`, and `/token` for anybody whose name and password are the same."""
    provider = Provider()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.asked += 1
            self._answer(provider.key_set())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            given = self.headers.get("Authorization", "")
            provider.granted.append(given)
            token = provider.token("machine", scope="kafka")
            self._answer(json.dumps({"access_token": token, "expires_in": 60}).encode())

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    provider.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
