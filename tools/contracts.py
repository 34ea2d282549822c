"""A contract for import-linter: packages that are pure, but for modules that are named.

`lint-imports` reads it from `.importlinter`. Unlike a list of pure modules it holds for a module
that is new; unlike ignored imports, a pure module that imports a driver breaks it.
"""

from grimp import ImportGraph
from importlinter.application import contract_utils, output
from importlinter.application.contract_utils import AlertLevel
from importlinter.domain import fields
from importlinter.domain.contract import Contract, ContractCheck


class PureContract(Contract):
    """No module of `packages`, those in `drivers` apart, reaches one of `forbidden_modules`, by
    itself or through others; and a driver that needs none of them is no driver."""

    type_name = "pure"

    packages = fields.ListField(subfield=fields.ModuleField())
    drivers = fields.ListField(subfield=fields.ModuleField())
    forbidden_modules = fields.ListField(subfield=fields.ModuleField())
    ignore_imports = fields.SetField(subfield=fields.ImportExpressionField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        contract_utils.remove_ignored_imports_and_report(
            graph=graph, ignore_imports=self.ignore_imports, unmatched_alerting=AlertLevel.ERROR
        )
        drivers = {each.name for each in self.drivers}
        inside: set[str] = set()
        for package in self.packages:
            inside |= {package.name} | graph.find_descendants(package.name)
        reached = {name: chain for name in inside if (chain := self._way_out(graph, name))}
        impure = [chain for name, chain in sorted(reached.items()) if name not in drivers]
        needless = sorted(drivers - reached.keys())
        return ContractCheck(
            kept=not impure and not needless, metadata={"impure": impure, "needless": needless}
        )

    def _way_out(self, graph: ImportGraph, name: str) -> tuple[str, ...] | None:
        for forbidden in self.forbidden_modules:
            if forbidden.name in graph.modules:
                chain = graph.find_shortest_chain(importer=name, imported=forbidden.name)
                if chain is not None:
                    return chain
        return None

    def render_broken_contract(self, check: ContractCheck) -> None:
        for chain in check.metadata["impure"]:
            output.print_error(f"{chain[0]} is to be pure: {' -> '.join(chain)}")
        for name in check.metadata["needless"]:
            output.print_error(f"{name} is named as a driver, and is none")
