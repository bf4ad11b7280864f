"""File formats of ranking data: LETOR, TREC, workbooks."""
