"""Lines of logs and CSVs as bytes, whole blocks at a time, without making an object of each."""
