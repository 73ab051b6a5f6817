"""The demand that a log shows: rates, routes and clients."""
