"""Where users import `TableView` from; it lives in `api.store`."""

from ottla.pipelines.api.store import TableView

__all__ = ["TableView"]
