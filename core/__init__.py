"""The ground floor: the row and its columns, files, headers, bodies, masking and units."""
