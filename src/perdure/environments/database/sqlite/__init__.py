"""The embedded engine: SQLite in memory behind a MySQL dialect."""
