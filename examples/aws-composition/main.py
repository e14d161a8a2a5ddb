"""Serves the function; `--help` lists the flags, which are those of every function on this SDK."""

import click
from crossplane.function import cli

from function import Runner


@click.command()
@cli.standard_options
def main(**options):
    cli.run(Runner(), **options)


if __name__ == "__main__":
    main()
