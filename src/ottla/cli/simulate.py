"""`ottla simulate`: runs through faults in virtual time; the same seed, the same story."""

from typing import Annotated

import typer

from ottla.cli.output import out, print_table, progress
from ottla.simulation.runs import Run, World, run_seeds


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
    runs: list[Run] = []
    with run_seeds(world, range(seed, seed + seeds), seconds) as found, progress(seeds) as bar:
        task = bar.add_task("simulating", total=seeds)
        for run in found:
            runs.append(run)
            bar.advance(task)
    for run in runs:
        if run.trouble or story:
            out.print(run.trouble or run.story, soft_wrap=True, markup=False)
    names = list(runs[0].facts)
    if seeds <= 20:
        rows = [(run.seed, *run.facts.values(), int(bool(run.trouble))) for run in runs]
    else:
        totals = [sum(run.facts[name] for run in runs) for name in names]
        rows = [(len(runs), *totals, sum(bool(run.trouble) for run in runs))]
    print_table(["seed" if seeds <= 20 else "seeds", *names, "broken"], rows)
    if any(run.trouble for run in runs):
        raise typer.Exit(1)
