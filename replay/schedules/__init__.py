"""When each request is due. Pure values, without a clock."""
