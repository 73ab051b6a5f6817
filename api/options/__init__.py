"""The values that calls take, each frozen, and the rules between them."""
