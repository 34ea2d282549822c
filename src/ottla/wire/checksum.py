"""CRC-32C, the checksum of record batches and snapshots, by the native function of `crc32c`.

Importing that package as a whole reads the metadata of installed distributions and brings a
command-line parser along: about a tenth of a broker's start. So its extension is loaded alone.
"""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crc32c import crc32c as crc32c
else:

    def _load():
        package = PathFinder.find_spec("crc32c", sys.path)
        places = package.submodule_search_locations if package else None
        spec = PathFinder.find_spec("crc32c._crc32c", places) if places else None
        if spec is None or spec.loader is None:
            from crc32c import crc32c  # installed in a way that only the import system knows

            return crc32c
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.crc32c

    crc32c = _load()
