"""Sandboxes, one module each; every module offers its class as `SANDBOX`."""
