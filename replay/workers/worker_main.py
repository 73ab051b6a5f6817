"""The main program of a worker in a process of this machine (`logreplay.replay.workers.processes`)."""

import sys

from logreplay.core.installation import OWN_PROCESS
from logreplay.replay.child_process import connection_to_parent, end_with_parent
from logreplay.replay.workers.processes import PipeChannel
from logreplay.replay.workers.worker import run_worker

if __name__ == "__main__":
    connection = connection_to_parent()
    OWN_PROCESS.claimed = True
    end_with_parent(connection)
    try:
        run_worker(connection.recv(), lambda: PipeChannel(connection))
    except BaseException:  # which the coordinator was told
        sys.exit(1)
