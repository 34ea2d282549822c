"""`ottla start`: one node in the foreground, or several workers.

Imports nothing that the server does not need.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.cli.straight import FILE, exit_code, read_words, stop_with_who_started
from ottla.config import Settings
from ottla.config.load import Loaded, load, parse_listen
from ottla.config.topology import EVERYWHERE
from ottla.errors import OttlaError
from ottla.node import serve
from ottla.ports.network import own_name

if TYPE_CHECKING:
    from ottla.cli.supervisor import Beside

_OPTIONS = ("--listen", "--data", "--jaas", "--registry", "--set", "--workers")


class Start:
    """What was asked for on the command line."""

    __slots__ = ("assignments", "data", "file", "jaas", "listen", "registry", "secure", "workers")

    def __init__(
        self,
        file: str | None = None,
        listen: str | None = None,
        data: str | None = None,
        assignments: Iterable[str] = (),
        workers: str | None = None,
        registry: str | None = None,
        *,
        secure: bool = False,
        jaas: str | None = None,
    ) -> None:
        self.file = file
        self.listen = listen
        self.data = data
        self.assignments = list(assignments)
        self.workers = workers
        self.registry = registry  # the port of a schema registry beside the node
        self.secure = secure
        self.jaas = jaas  # a file of login modules, as Java's

    def load(self) -> Loaded:
        listen = parse_listen(self.listen) if self.listen else None
        if self.secure:
            return self._load_secured(listen)
        if self.data and (Path(self.data) / "secure" / "authority.pem").exists():
            raise OttlaError(f"{self.data} holds a secured cluster: say --secure.")
        loaded = load(
            Path(self.file) if self.file else None,
            listen=listen,
            advertise=own_name() if listen is not None and listen[0] in EVERYWHERE else None,
            data=Path(self.data).absolute() if self.data else None,
            assignments=self.assignments,
        )
        if self.jaas is None:
            return loaded
        from ottla.security.jaas_file import with_jaas

        return loaded._replace(settings=with_jaas(loaded.settings, Path(self.jaas)))

    @property
    def secured_home(self) -> Path | None:
        """Where a secured cluster lies, if that is what is started."""
        if not self.secure:
            return None
        from ottla.cli.secured.start import home_of

        return home_of(self.data)

    def _load_secured(self, listen: tuple[str, int] | None) -> Loaded:
        if self.file is not None:
            raise OttlaError(
                "--secure writes a file of its own and cannot change one; `ottla secure init` "
                "writes files for nodes of your own."
            )
        if self.workers is not None:
            raise OttlaError("--secure is for one node; `ottla cluster DIR --secure` runs several.")
        from ottla.cli.secured.start import load_secured

        return load_secured(self.data, listen, self.assignments)

    def command(self, settings: Mapping[str, str]) -> list[str]:
        """The same start as a process of its own, with other settings on top."""
        command = [sys.executable, "-m", "ottla", "start"]
        if self.file is not None:
            command.append(self.file)
        for name, value in (
            ("--listen", self.listen),
            ("--data", self.data),
            ("--jaas", self.jaas),
        ):
            if value is not None:
                command += [name, value]
        if self.secure:
            command.append("--secure")
        for assignment in (*self.assignments, *(f"{n}={v}" for n, v in settings.items())):
            command += ["--set", assignment]
        return command


def parse(arguments: Sequence[str]) -> Start | None:
    """None for whatever needs an explanation."""
    words = read_words(arguments, _OPTIONS, ("--secure",))
    if words is None:
        return None
    asked = Start()
    for name, value in words:
        if name == FILE:
            asked.file = value
        elif name == "--secure":
            asked.secure = True
        elif name == "--set":
            asked.assignments.append(value)
        else:
            setattr(asked, name[2:], value)
    return asked


def start(asked: Start) -> int:
    """Runs the node until it is told to stop; the exit code."""
    return exit_code(lambda: _run(asked))


def _run(asked: Start) -> int | None:
    settings, warnings = asked.load()
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if asked.workers is not None or asked.registry is not None:
        return _start_several(asked, settings)
    for listener in settings.topology.exposed:
        print(
            f"warning: {listener.name} on {listener.host or 'all interfaces'}:{listener.port} "
            "is open to the network without encryption or authentication: whoever reaches it "
            "may read, write and delete everything.",
            file=sys.stderr,
        )
    stop_with_who_started()
    serve(settings)
    return None


def _start_several(asked: Start, settings: Settings) -> int:
    """Workers, a registry beside them, or both."""
    from ottla.cli.supervisor import Child, supervise
    from ottla.cli.workers import host_name, plan_workers
    from ottla.ports.network import free_ports

    beside = None
    if asked.registry is not None:
        beside = _registry(asked.registry, settings, asked.secured_home)
    stop_with_who_started()
    if asked.workers is None:
        return supervise([Child("node", asked.command({}))], beside)
    if not asked.workers.isdigit():
        raise OttlaError(f"--workers cannot be {asked.workers!r}: a number is expected.")
    plans = plan_workers(settings, int(asked.workers), host_name(), free_ports(1)[0])
    return supervise(
        [Child(f"worker {number}", asked.command(plan)) for number, plan in enumerate(plans, 1)],
        beside,
    )


def _registry(port: str, settings: Settings, secured_home: Path | None) -> "Beside":
    from ottla.cli.registry_child import beside

    listeners = settings.topology.listeners
    if secured_home is not None:
        from ottla.cli.secured.start import be_admin

        be_admin(secured_home)
        return beside(port)
    if not listeners or listeners[0].protocol != "PLAINTEXT":
        raise OttlaError(
            "--registry reaches the node without TLS or a password, which its first listener asks "
            "for: run `ottla registry start` with kafkastore.* options beside it."
        )
    return beside(port)
