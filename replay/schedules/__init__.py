"""Computes when each request is due. Pure values, without a clock."""
