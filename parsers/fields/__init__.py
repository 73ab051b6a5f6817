"""One text of a log line as one value: numbers, durations, addresses, request lines, time stamps."""
