"""Result files: each has one writer, and none replaces an input."""

import errno
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from logreplay.analysis.input.external_metrics import stem
from logreplay.analysis.output.file_names import companion_files
from logreplay.calls.sending_call import SendingCall
from logreplay.core.files import check_distinct, lock_beside, unwritable
from logreplay.replay.results.result_log import check_new, partial_path
from logreplay.result_folder import Named


def inputs(call: SendingCall) -> list[tuple[str, Path]]:
    """The files that a call reads, each after the argument or option that names it."""
    request_rules, sender_rules = call.request_rules, call.sender_rules
    read = [("LOG", call.log)] if isinstance(call.log, Path) else []
    read += [("--cacert", sender_rules.cacert)] if sender_rules.cacert else []
    read += [("--login", sender_rules.login.path)] if sender_rules.login else []
    read += [("--auth", request_rules.auth.reads)] if request_rules.auth and request_rules.auth.reads else []
    return read + request_rules.files


def further_files(written: Mapping[str, Path | None], reads: Named) -> Named:
    """Return the files of some options, after a check that they differ from the inputs and can be written."""
    named = [(option, path) for option, path in written.items() if path is not None]
    check_distinct(named, reads)
    for option, path in named:
        if not path.parent.is_dir():
            raise unwritable(path, FileNotFoundError(errno.ENOENT, ""), option)
        if not os.access(path.parent, os.W_OK):
            raise unwritable(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)), option)
    return named


def claim(path: Path, reads: Named, locks: ExitStack, *, force: bool, others: Named = ()) -> Path:
    """Take the name of a result log, and those of the files that belong to it, until the locks end; return it."""
    check_new(path, force=True)
    written = dict.fromkeys((path, partial_path(path, companion_files), *companion_files(path)))
    check_distinct([*others, *(("-o", each) for each in written)], reads)
    locks.enter_context(lock_beside(stem(path), path))
    check_new(path, force=force, companion_files=companion_files)
    return path
