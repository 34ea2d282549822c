"""What every simulated world stands on: virtual time, hosts, and networks and disks that fail."""
