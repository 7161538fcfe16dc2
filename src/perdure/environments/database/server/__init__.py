"""Engines behind which a real MySQL or MariaDB server stands."""
