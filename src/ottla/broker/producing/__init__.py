"""A Produce: what is wrong with it as it came, the steps to its append, the reply."""
