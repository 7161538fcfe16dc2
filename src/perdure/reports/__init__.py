"""What a run came to: facts as JSON, and the same facts as tables."""
