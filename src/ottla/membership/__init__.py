"""Who belongs to the cluster, and who of them is there.

Two sides of one subject. This node towards the controller: which cluster it joins, its
registration and heartbeats, replicas that step back while their disk fails, leaders that are cut
off. And the others as this node sees them: who seems to have died, and is asked for a sign of life.
What follows for partitions is decided by the controller; its sessions of brokers are its own.
"""
