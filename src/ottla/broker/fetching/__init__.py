"""What a Fetch needs besides its handler: sessions, the reply as buffers, the closest replica."""
