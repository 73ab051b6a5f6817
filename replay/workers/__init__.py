"""One plan sent by several processes or machines."""
