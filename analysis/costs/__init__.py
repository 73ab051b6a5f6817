"""The demand of each route for a watched resource, from a sweep whose steps leave out routes."""
