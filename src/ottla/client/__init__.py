"""Clusters as their clients know them: how to reach one, what it says of itself, how it is changed.

Below the tools and the pipelines, so that all of them share it. Nothing here draws, and nothing
knows Ottla's server: it works against Apache Kafka too.
"""
