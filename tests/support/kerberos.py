"""A realm of Kerberos on the loopback: Debian's krb5-kdc with a database in a temporary folder."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.confluent import wait_until
from support.homes import free_port

REALM, HOST = "OTTLA.TEST", "localhost"
BROKER = f"kafka/{HOST}@{REALM}"
PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local")
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
CONFIG = """[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 {host} = {realm}
"""
KDC = """[kdcdefaults]
 kdc_listen = 127.0.0.1:{port}
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
  max_life = 10h
 }}
"""


def missing() -> str | None:
    """What a test with Kerberos lacks on this machine."""
    lacking = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if lacking:
        return f"{', '.join(lacking)} of Debian's krb5-kdc and krb5-admin-server are not installed"
    if find_spec("gssapi") is None:
        return "the package gssapi is not installed (ottla[kerberos])"
    return None


needed = pytest.mark.skipif(missing() is not None, reason=missing() or "")


class Realm:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.config = folder / "krb5.conf"
        texts = {self.config: CONFIG, folder / "kdc.conf": KDC}
        for path, text in texts.items():
            said = {"realm": REALM, "port": self.port, "host": HOST, "folder": folder}
            path.write_text(text.format_map(said))
        self.environ = {
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
            "KRB5RCACHEDIR": str(folder),
            "KRB5CCNAME": f"FILE:{folder / 'tickets'}",
            "JAVA_TOOL_OPTIONS": f"-Djava.security.krb5.conf={self.config}",
        }
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "of the test")

    def add(self, principal: str) -> Path:
        """A principal with a random key; its keytab."""
        keytab = self.folder / f"{principal.replace('/', '-')}.keytab"
        for query in (f"addprinc -randkey {principal}", f"ktadd -k {keytab} {principal}"):
            self._run("kadmin.local", "-r", REALM, "-q", query)
        return keytab

    def launch(self) -> subprocess.Popen[bytes]:
        program = shutil.which("krb5kdc", path=PATH)
        assert program is not None
        process = subprocess.Popen(
            [program, "-n", "-r", REALM],
            env=os.environ | self.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._is_listening)
        return process

    def _is_listening(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def _run(self, name: str, *arguments: str) -> None:
        program = shutil.which(name, path=PATH)
        assert program is not None
        ran = subprocess.run(
            [program, *arguments],
            env=os.environ | self.environ,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr


@contextmanager
def running_realm(folder: Path) -> Iterator[Realm]:
    realm = Realm(folder)
    process = realm.launch()
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in realm.environ.items():
                patch.setenv(name, value)
            yield realm
    finally:
        process.terminate()
        process.wait(10)
