"""How many machines carry the demand of a log: demand beside supply, for its peaks and for each hour of the week."""
