"""Sources of `--watch` that know their figures and maxima: processes, control groups, pages, databases."""
