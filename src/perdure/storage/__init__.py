"""What lasts: files that survive a crash, and the records that are kept in them.

How anything is written to disk and read back may live here: append-only logs, sealed lines, blobs, the call
logs of open tasks, the record of a session, the store of a run. It imports `core` alone.
"""
