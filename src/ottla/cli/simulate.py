"""`ottla simulate`: lives through faults in virtual time; the same seed, the same story."""

from typing import Annotated

import typer

from ottla.cli.output import out, print_table, progress
from ottla.simulation.lives import Life, World, living


def simulate(
    seed: Annotated[int, typer.Option(metavar="N", help="The first seed.")] = 0,
    seeds: Annotated[int, typer.Option(metavar="COUNT", help="How many, from there on.")] = 1,
    seconds: Annotated[
        float | None, typer.Option(help="Virtual seconds of faults in each.", show_default="20–60")
    ] = None,
    world: Annotated[
        World, typer.Option(help="Whole nodes, or one part of what they do.")
    ] = World.CLUSTER,
    story: Annotated[bool, typer.Option("--story", help="Tell what happened.")] = False,
) -> None:
    """Run a part of a cluster, or all of it, in virtual time through crashes and bad networks."""
    lives: list[Life] = []
    with living(world, range(seed, seed + seeds), seconds) as found, progress(seeds) as bar:
        task = bar.add_task("simulating", total=seeds)
        for life in found:
            lives.append(life)
            bar.advance(task)
    for life in lives:
        if life.trouble or story:
            out.print(life.trouble or life.story, soft_wrap=True, markup=False)
    names = list(lives[0].facts)
    if seeds <= 20:
        rows = [(life.seed, *life.facts.values(), int(bool(life.trouble))) for life in lives]
    else:
        totals = [sum(life.facts[name] for life in lives) for name in names]
        rows = [(len(lives), *totals, sum(bool(life.trouble) for life in lives))]
    print_table(["seed" if seeds <= 20 else "seeds", *names, "broken"], rows)
    if any(life.trouble for life in lives):
        raise typer.Exit(1)
