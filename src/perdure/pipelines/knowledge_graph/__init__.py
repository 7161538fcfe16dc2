"""An invented world, questions about it, and questions by path over published graphs."""
