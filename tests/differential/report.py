"""A difference as people read it: one line a step, both answers under the one that differs."""

from differential.comparable import text
from differential.comparing import Difference
from differential.steps import Step

WIDTH = 400


def report(found: Difference) -> str:
    area, seed = found.sequence.area, found.sequence.seed
    often = "" if found.repeated else " (not every time)"
    lines = [f"{area}, seed {seed}, {found.mode}{often}: {found.kind}"]
    for number, move in enumerate(found.sequence.moves):
        mark = ">" if number == found.at else " "
        lines.append(f" {mark}{number:3} {move}"[: WIDTH * 2])
        if not isinstance(move, Step):
            continue
        if number == found.at:
            lines.append(f"        kafka {short(found.kafka[number])}")
            lines.append(f"        ottla {short(found.ottla[number])}")
            lines += [f"        {path}: {short(k)} / {short(o)}" for path, k, o in found.leaves[:8]]
        else:
            lines.append(f"        = {short(found.kafka[number])}")
    return "\n".join(lines)


def short(value: object) -> str:
    said = text(value).replace('"', "")
    return said if len(said) <= WIDTH else f"{said[:WIDTH]}…"
