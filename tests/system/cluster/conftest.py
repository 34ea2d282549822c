from collections.abc import Iterator

import pytest

from support.clusters import Cluster, cluster_of


@pytest.fixture
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_of(3, tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster
