"""Chooses the requests to send: reads them from a log, filters, reorders and changes them."""
