"""The pictures, one module for each kind."""

import logging

from logreplay.core.installation import OWN_PROCESS

if OWN_PROCESS.claimed:  # where the home cannot be written, matplotlib uses another folder, and says so in two lines
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
