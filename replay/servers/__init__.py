"""The HTTP servers that come with the package: a target of known capacity, and a minimal one."""
