"""Each fault that docs/faults.md says to be survived has its tests, and each of them is there."""

import re
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parent.parent
TESTS: Final = {
    "not HTTP/1.x: another protocol, an invalid status line": ("test_each_way_of_answering_has_its_row",),
    "headers or a `Content-Length` that violate RFC 9112; invalid chunk sizes; 101 without an upgrade request": (
        "test_each_way_of_answering_has_its_row",
    ),
    "10,000 headers, one of 900 kB; chunk extensions; 10,000 1xx responses; a response before the request": (
        "test_each_way_of_answering_has_its_row",
    ),
    "headers above 1 MB; endless 1xx responses, chunk extensions, trailers, empty lines": (
        "test_each_way_of_answering_has_its_row",
    ),
    "headers or body that arrive byte by byte, stall or never end": (
        "test_each_way_of_answering_has_its_row",
        "test_an_endless_answer_takes_no_memory",
    ),
    "fewer bytes than announced": ("test_each_way_of_answering_has_its_row",),
    "more bytes than announced, a body after 204, 304 or HEAD, a second response": (
        "test_each_way_of_answering_has_its_row",
        "test_an_answer_right_behind_another_changes_nothing_of_it_and_ends_the_connection",
        "test_a_known_head_with_another_answer_behind_it_is_told_from_that",
    ),
    "HEAD, 204 or 304 without `Content-Length` and `Transfer-Encoding`": (
        "test_an_answer_that_can_have_no_body_keeps_its_connection",
        "test_unless_it_says_that_the_connection_ends",
    ),
    "a gzip bomb, compression without a request for it": ("test_each_way_of_answering_has_its_row",),
    "redirects, cookies": ("test_each_way_of_answering_has_its_row",),
    "a reset or close after any byte of a response": (
        "test_an_answer_may_end_at_any_byte",
        "test_everything_at_once_is_accounted_for",
    ),
    "a name that has another address when it is looked up again": (
        "test_a_name_that_changes_its_address_is_looked_up_once",
        "test_each_look_is_followed_by_a_check",
    ),
    "an open connection that closes when it is used again": (
        "test_a_reused_connection_that_was_closed_is_replaced_once",
        "test_a_reused_connection_that_is_lost_while_the_target_works_is_a_failure",
        "test_a_post_is_never_sent_twice",
    ),
    "a malformed response; a body shorter than announced; RST_STREAM": (
        "test_each_way_of_answering_ends_the_request_as_it_should",
    ),
    "REFUSED_STREAM, or a GOAWAY before the request was processed": (
        "test_a_refused_stream_is_sent_again_but_not_for_ever",
        "test_a_target_that_ends_connections_loses_no_request_and_gets_none_twice",
    ),
    "invalid frames, pushes, undecodable headers, windows that overflow": (
        "test_each_way_of_answering_ends_the_request_as_it_should",
    ),
    "floods of frames or of 1xx responses": ("test_each_way_of_answering_ends_the_request_as_it_should",),
    "headers above 256 kB, coded or decoded (HPACK bombs); 1,000 CONTINUATION frames; repeated resizing": (
        "test_each_way_of_answering_ends_the_request_as_it_should",
        "test_a_block_of_many_fields_is_not_kept",
    ),
    "a flood for a stream that was reset or timed out": ("test_each_way_of_answering_ends_the_request_as_it_should",),
    "a second response after the first one; many time-outs on one connection": (
        "test_each_way_of_answering_ends_the_request_as_it_should",
        "test_bad_answers_have_the_same_word",
        "test_many_time_outs_retire_a_connection",
    ),
    "a target that speaks HTTP/1.1 only": ("test_a_target_without_http2_is_named",),
    "a certificate that is expired, for another name, self-signed, or from an unknown authority": (
        "test_a_certificate_that_is_not_good_is_a_tls_error",
    ),
    "an old TLS version, no common cipher, a required client certificate, a port without TLS": (
        "test_two_that_cannot_agree_are_a_tls_error",
        "test_a_port_without_tls",
    ),
    "a handshake that breaks off: reset; closed or random bytes; stalled": (
        "test_a_port_without_tls",
        "test_a_connection_that_never_comes_about_is_given_up_with_its_exchange",
        "test_a_handshake_that_is_cut_off",
    ),
    "a response that breaks off: reset, closed, a damaged record, stalled": (
        "test_an_answer_over_tls_that_is_cut_off",
    ),
    "`kill -9` at any moment of convert, run, sweep, find": (
        "test_killed_at_any_moment_every_file_is_readable",
        "test_a_killed_run_leaves_a_readable_file",
        "test_no_worker_outlives_a_coordinator_that_was_killed",
    ),
    "`kill -9` of a run or a sweep that replaces a result with `--force`": (
        "test_a_killed_run_leaves_the_old_result_and_its_own_rows",
        "test_a_killed_sweep_leaves_the_old_one_and_goes_on_beside_it",
    ),
    "the process of the live page and `--watch` dies or hangs": (
        "test_a_sidecar_that_is_killed_does_not_stop_the_run_which_says_what_has_ended",
        "test_a_sidecar_that_hangs_is_ended_and_reported",
    ),
    "two commands that write one result": (
        "test_of_two_runs_to_one_name_one_is_made_and_the_other_refused",
        "test_a_folder_in_which_a_sweep_runs_takes_no_second_one",
    ),
    "a full disk": (
        "test_a_full_disk_ends_a_run_and_keeps_what_was_measured",
        "test_a_full_disk_ends_a_sweep_which_can_be_read",
        "test_a_full_disk_leaves_nothing_of_a_conversion",
        "test_a_full_disk_has_space_for_the_summary",
    ),
    "a slow disk for the result log": (
        "test_rows_that_are_written_late_are_counted",
        "test_late_rows_are_charged_to_the_disk_or_to_the_processor",
        "test_a_disk_that_does_not_keep_up_ends_the_run_with_an_error_and_no_row_is_lost",
        "test_a_slow_disk_is_not_the_silence_of_a_worker",
    ),
    "Ctrl-C while a hook blocks, or while the log cannot be read": (
        "test_a_stop_does_not_wait_for_a_hook_that_blocks",
        "test_a_stop_does_not_wait_for_a_plan_that_cannot_be_read",
    ),
    "`sys.exit()` or a panic in a hook; `on_progress` or `trace` (Python API) raises": (
        "test_a_hook_that_leaves_the_process_ends_the_run_with_its_message",
        "test_what_on_progress_raises_ends_the_run_and_the_rows_are_on_disk",
        "test_what_a_trace_raises_ends_the_run_and_the_rows_are_on_disk",
    ),
    "a read-only file system, too few file descriptors to begin": (
        "test_a_disk_that_is_read_only_is_said_before_anything_is_sent",
        "test_so_few_descriptors_that_nothing_can_begin_are_named",
    ),
    "the output folder is removed during a run": ("test_a_folder_that_is_removed_ends_the_run_with_a_word",),
    "no file descriptors (EMFILE), local ports (EADDRNOTAVAIL) or network buffers (ENOBUFS) left": (
        "test_too_few_descriptors_void_the_run",
        "test_used_up_ports_void_the_run",
        "test_a_network_without_buffers_voids_the_run",
        "test_a_request_for_which_there_is_no_buffer_just_now_is_written_again",
    ),
    "a worker dies, or its rows cannot be recorded": (
        "test_a_lost_worker_whose_share_takes_long_to_read_loses_no_other",
        "test_a_killed_worker_is_named_and_its_requests_count_as_not_sent",
        "test_what_a_killed_worker_may_have_sent_does_not_count_as_not_sent",
        "test_half_of_the_workers_carry_their_share_to_the_end",
        "test_a_worker_whose_rows_cannot_be_recorded_sends_no_more",
    ),
    "all workers die; the scheduler of a cluster dies, or does not respond for 15 s": (
        "test_the_loss_of_all_workers_is_the_end_of_the_plan",
        "test_a_killed_scheduler_is_named_and_ends_a_run_without_end",
    ),
    "a worker has no logreplay, another version, or no module of the plan": (
        "test_a_worker_without_logreplay_or_with_another_version_is_named_before_anything_is_sent",
        "test_a_plan_whose_module_a_worker_cannot_import_is_an_error_that_names_it",
        "test_a_plan_that_cannot_be_pickled_is_an_error_at_once",
    ),
    "Ctrl-Z and `fg`, SIGSTOP and SIGCONT, a suspended machine": (
        "test_a_stop_of_the_whole_group_is_not_the_death_of_a_worker",
        "test_a_stopped_process_charges_its_pause_and_says_so",
    ),
    "a worker hangs while it starts; the process of the live page does not start": (
        "test_a_worker_that_hangs_before_its_first_word_is_ended",
        "test_a_live_page_that_does_not_start_is_not_waited_for",
    ),
    "the wall clock is set forward or back": ("test_a_clock_that_is_set_changes_nothing",),
    "SIGINT, SIGTERM, SIGHUP, also to the whole process group": (
        "test_a_signal_ends_a_run_in_good_order",
        "test_a_terminal_that_is_closed_ends_a_run_as_an_interruption",
        "test_ctrl_c_keeps_what_was_measured",
        "test_a_signal_to_the_whole_group_ends_the_run_in_good_order",
        "test_a_signal_to_the_whole_group_ends_a_run_on_a_local_cluster_in_good_order",
        "test_a_signal_leaves_nothing_of_a_conversion",
    ),
    "Ctrl-C twice, or while the target accepts a connection and does not respond": (
        "test_a_signal_ends_the_wait_for_the_first_answer",
        "test_ctrl_c_twice_is_as_good",
        "test_a_second_signal_in_a_sweep_says_what_is_done_and_how_to_go_on",
        "test_ctrl_c_ends_a_run_whose_hook_blocks",
        "test_ctrl_c_twice_ends_a_program_that_waits_for_a_halted_terminal",
    ),
    "the terminal closes under `nohup` or with `setsid`, or is halted (Ctrl-S)": (
        "test_a_closed_terminal_does_not_end_a_run_under_nohup",
        "test_a_terminal_that_is_closed_does_not_end_a_run_that_does_not_hear_of_it",
        "test_a_stop_rule_watches_on_when_the_terminal_is_closed",
        "test_a_terminal_that_is_closed_does_not_end_a_sweep_or_a_search",
        "test_a_terminal_that_is_halted_does_not_hold_up_the_load",
    ),
    "the reader of stdout leaves (`-v \\| head -1`), also of both streams": (
        "test_nobody_reads_on_and_the_measurement_goes_on",
        "test_nobody_reads_on_and_a_verdict_has_its_exit_code",
        "test_a_reader_of_both_streams_that_leaves_does_not_end_a_sweep",
    ),
    "the reader of `convert -o -`, `seconds` or `urls -o -` leaves": ("test_nobody_reads_on_and_a_conversion_ends",),
    "stdout is read slowly (`-v \\| less`)": (
        "test_nobody_reads_the_exchanges_and_the_requests_leave_on_time",
        "test_exchanges_that_a_slow_reader_did_not_get_are_counted",
    ),
    "a bug in logreplay": ("test_a_bug_is_one_sentence_and_the_rows_are_kept",),
    "stdout, stderr or stdin is closed": ("test_closed_streams_are_nobodys_loss",),
    "stdout leads to a full disk; it is closed and the result goes only there (`--json`, `inspect`, `convert -o -`)": (
        "test_a_full_stdout_is_named_and_the_results_are_there",
        "test_a_result_that_a_closed_stdout_cannot_take_is_an_error",
    ),
    "a regular expression that backtracks without end, or needs too much memory": (
        "test_no_pattern_takes_more_than_linear_time",
        "test_a_pattern_that_needs_too_much_memory_is_refused",
    ),
    "a hostile line, or a number of more than 4,300 digits, for `--redact`": (
        "test_redaction_takes_linear_time",
        "test_a_number_of_any_length_is_replaced",
    ),
    "markup, control bytes or half surrogates in a check of `--junit`": (
        "test_no_text_of_a_log_ends_an_element_or_makes_the_file_unreadable",
    ),
    "quotes, markup, or any number of URLs and clients for `--metrics`": (
        "test_no_name_adds_a_metric_or_is_changed",
        "test_no_label_holds_a_text_of_a_log_so_that_their_number_is_bounded",
    ),
    "a link where a command writes a lock, a temporary or a growing file": (
        "test_a_link_that_was_planted_leads_no_result_elsewhere",
    ),
}
"""Names of tests by the first cell of a row."""


def test_each_row_of_the_page_has_its_tests() -> None:
    rows = [row for row in (ROOT / "docs" / "faults.md").read_text("utf-8").splitlines() if row.startswith("| ")]
    faults = [re.split(r"(?<!\\)\|", row)[1].strip() for row in rows if not row.startswith("| fault |")]
    assert len(faults) > 30
    assert sorted(faults) == sorted(TESTS)


def test_each_test_is_there() -> None:
    written = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        written |= set(re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.M))
    assert all(TESTS.values())
    assert {name for names in TESTS.values() for name in names} <= written
