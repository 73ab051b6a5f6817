"""Makes the demo: conversion of the bundled log, a target of known capacity, and a sweep past its saturation."""

from pathlib import Path
from typing import Final

from logreplay.calling.busy import used_by_thread
from logreplay.calling.mailbox import CallListener, Mailbox
from logreplay.calls.sweep_call import SweepCall
from logreplay.folder_results import SweepResult
from logreplay.inputs.logs import BUNDLED, bundled_log
from logreplay.options.sender_rules import SenderRules
from logreplay.parsers.conversion.job import ConvertOptions, convert
from logreplay.replay.servers.known_capacity import ServerCapacity
from logreplay.replay.servers.target_process import spawned
from logreplay.replay.sweeps.manifest import Manifest
from logreplay.result_folder import ResultFolder
from logreplay.runs.curve import sweep_to

_RATES: Final = (50.0, 100.0, 150.0, 200.0, 225.0, 250.0, 275.0, 300.0)
"""Requests/s; the target carries 250."""
_STEP_S: Final = 4.0


def demo_once(output: Path | None, listener: CallListener, *, http: str, force: bool) -> SweepResult:
    """Make the demo."""
    call = SweepCall(log=None, rates=_RATES, duration=_STEP_S, sender_rules=SenderRules(http=http)).checked()
    mailbox, capacity = Mailbox(listener), ServerCapacity()
    with used_by_thread() as stack:
        folder = stack.enter_context(ResultFolder.named(output, "demo", force=force))
        csv = folder.path / "access.csv"
        with bundled_log() as log:
            converted = convert([log], csv, ConvertOptions(force=force))
        mailbox.note(f"1. converted {BUNDLED}, the log of a real nginx: {converted.sentence()}")
        url = stack.enter_context(spawned(csv, capacity))
        mailbox.note(f"2. started a target at {url}: {capacity}")
        mailbox.note("3. replaying the log at rates below and above that")
        return sweep_to(url, call, csv, folder, Manifest(folder.path, {}), stack, mailbox)
