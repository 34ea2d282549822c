"""The one place that names Ottla's version."""

VERSION = "0.2.0"
