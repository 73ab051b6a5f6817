"""What a command does for which `import logreplay` has no function: calibrate, plot, urls."""
