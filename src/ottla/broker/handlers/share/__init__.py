"""Share groups, and the coordinators of their partitions' states."""
