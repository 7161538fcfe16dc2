"""The helper process that makes and keeps bubblewrap sandboxes.

Its modules import the standard library and one another only: the helper starts as a bare interpreter, so that
it stays small, and a fork of it costs a millisecond. Order of reading: `identity` (which ids the world inside
gets), `spawner` (one process for all sandboxes), `keeper` (one process a sandbox), `world` (namespaces and
mounts), `command` (one command, and how it is ended).
"""
