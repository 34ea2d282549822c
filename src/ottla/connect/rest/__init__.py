"""Connect's REST: routes, bodies, and the refusals in Connect's words."""
