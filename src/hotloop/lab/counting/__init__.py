"""How often everything happens in a window of the run, and what those numbers are multiples of."""
