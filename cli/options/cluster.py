"""``--cluster`` of commands that send nothing."""

import click

cluster_option = click.option("--cluster", metavar="ADDRESS", help="Use a Dask cluster: tcp://HOST:8786, or local:N.")
"""Gives a command ``--cluster``, for work other than sending."""
