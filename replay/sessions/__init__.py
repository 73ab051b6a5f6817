"""Sessions of the clients of a log: cookies, values of answers, logins."""
