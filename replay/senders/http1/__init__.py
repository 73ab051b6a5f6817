"""HTTP/1.1: the default sender, for one client or many, with or without sessions."""
