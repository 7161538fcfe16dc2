"""Callbacks, one file each: learning methods, guards and watchers. Each module offers `CALLBACK`."""
