"""What a broker does under load that comes beside other load: a neighbour must not be slowed."""
