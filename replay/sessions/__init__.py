"""What each client of a log keeps between its requests: cookies, extracted values, its login."""
