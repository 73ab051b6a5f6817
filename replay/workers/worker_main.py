"""The main program of a worker in a process of this machine (`logreplay.replay.workers.processes`)."""

import sys

from logreplay.replay.child_process import connection_to_parent, end_with_parent
from logreplay.replay.workers.processes import PipeChannel
from logreplay.replay.workers.worker import run_worker

if __name__ == "__main__":
    connection = connection_to_parent()
    end_with_parent(connection)
    folders, config = connection.recv()
    sys.path += [folder for folder in folders if folder not in sys.path]  # after those where this package is found
    try:
        run_worker(config, lambda: PipeChannel(connection))
    except BaseException:  # which the coordinator was told
        sys.exit(1)
