"""Records of the protocol, one class for all versions of a message."""
