"""Records in and out, and where they lie."""
