"""What tests share: servers, clocks and watchers."""
