"""Share groups on a broker: sessions of members, queues over partitions, states at coordinators."""
