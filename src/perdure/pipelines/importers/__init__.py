"""Published task sets, brought into the form that the environments read: one module a source."""
