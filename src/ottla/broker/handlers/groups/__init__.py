"""Groups of consumers and of streams: members and offsets."""
