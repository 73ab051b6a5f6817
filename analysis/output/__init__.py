"""The files that show a run: report, pictures, HdrHistogram logs."""
