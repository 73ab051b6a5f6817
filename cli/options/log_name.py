"""The type of the argument LOG."""

from typing import TYPE_CHECKING

import click

from logreplay.inputs.logs import log_named

if TYPE_CHECKING:
    from logreplay.inputs.logs import Log


class LogName(click.ParamType["Log"]):
    """A file; an object of a store, ``s3://BUCKET/access.csv``; or one url, ``http://HOST/PATH``."""

    name = "log"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> "Log":
        try:
            return log_named(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
