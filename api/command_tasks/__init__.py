"""Tasks of commands without a function in `import logreplay`: calibrate, plot, urls."""
