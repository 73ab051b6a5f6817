"""Parameters from a settings file, and the limits of what a file may say."""
