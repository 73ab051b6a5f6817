"""The number of machines that carry the demand of a log: for its peaks, and for each hour of the week."""
