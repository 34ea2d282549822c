"""What the machines' drivers need of the outside world, as protocols with one real side each."""
