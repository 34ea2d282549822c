"""sslyze looks at a secured listener, and finds nothing weak.

It wants an older cryptography than ours, so it has an environment of its own, made once.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.jars import PROJECT
from support.secured import running_secured

pytestmark = [pytest.mark.long, pytest.mark.foreign, pytest.mark.timeout(600)]

VERSIONS = ("sslv2", "sslv3", "tlsv1", "tlsv1_1", "tlsv1_2", "tlsv1_3")
BUGS = ("heartbleed", "openssl_ccs", "reneg", "robot", "compression")
OLD = ("ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1")
WEAK = ("RC4", "3DES", "_DES", "NULL", "EXPORT", "anon", "MD5")


def sslyze() -> Path:
    folder = PROJECT / ".kafka" / "sslyze"
    program = folder / "bin" / "sslyze"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "sslyze"]
        if subprocess.run(pip).returncode != 0:
            pytest.skip("sslyze cannot be installed")
    return program


def test_nothing_weak_is_found(tmp_path: Path) -> None:
    report, asked = tmp_path / "report.json", [f"--{one}" for one in (*VERSIONS, *BUGS)]
    with running_secured("ottla", tmp_path / "node") as secured:
        command = [str(sslyze()), f"--json_out={report}", *asked, secured.encrypted]
        subprocess.run(command, capture_output=True, timeout=400)  # its code is a profile's
    (server,) = json.loads(report.read_text())["server_scan_results"]
    found = {name: one["result"] for name, one in server["scan_result"].items() if one["result"]}
    for version in OLD:
        assert found[f"{version}_cipher_suites"]["accepted_cipher_suites"] == []
    for version in ("tls_1_2", "tls_1_3"):
        accepted = found[f"{version}_cipher_suites"]["accepted_cipher_suites"]
        names = [one["cipher_suite"]["name"] for one in accepted]
        assert names
        assert not [name for name in names if any(weak in name for weak in WEAK)]
    assert not found["heartbleed"]["is_vulnerable_to_heartbleed"]
    assert not found["openssl_ccs_injection"]["is_vulnerable_to_ccs_injection"]
    assert not found["tls_compression"]["supports_compression"]
    assert not found["session_renegotiation"]["is_vulnerable_to_client_renegotiation_dos"]
    assert found["robot"]["robot_result"].startswith("NOT_VULNERABLE")
