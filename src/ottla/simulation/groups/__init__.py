"""One group: its members, and its coordinators one after another."""
