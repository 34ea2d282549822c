"""A JAAS file (`java.security.auth.login.config`, here `--jaas FILE`) as the options it stands for.

A listener's own section (`users.KafkaServer`) wins over `KafkaServer`, and a line in the file of
options over both, as in Kafka.
"""

from pathlib import Path

from ottla.config import Settings
from ottla.errors import OttlaError
from ottla.security import jaas, scram
from ottla.security.listener_options import JAAS

_MECHANISMS = {
    "PLAIN": ("PLAIN",),
    "SCRAM": tuple(scram.MECHANISMS),
    "OAUTHBEARER": ("OAUTHBEARER",),
}


def with_jaas(settings: Settings, path: Path) -> Settings:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise OttlaError(f"--jaas: {path} cannot be read: {error.strerror}.") from None
    sections = jaas.parse_file(text, str(path))
    static = dict(settings.static)
    topology = settings.topology
    for listener in (*topology.listeners, *topology.controller_listeners):
        name = listener.name.lower()
        own = sections.get(f"{name}.{jaas.SERVER_SECTION}")
        for login in sections.get(jaas.SERVER_SECTION, []) if own is None else own:
            for mechanism in _MECHANISMS.get(login.family, ()):
                option = f"listener.name.{name}.{mechanism.lower()}.{JAAS}"
                static.setdefault(option, jaas.render(login))
    return Settings(static)
