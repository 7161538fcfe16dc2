"""The idea: what a task, an environment, an agent, a callback and the loop between them are.

Only contracts, the data that crosses them and the loop may live here: no file format, no provider, no plugin.
Modules of this layer import each other and nothing else of ours. They read in this order: `types`, `session`,
`environment`, `agent`, `callback`, `controller`.
"""
