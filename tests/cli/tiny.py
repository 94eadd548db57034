"""A run so small that it is over at once."""

TINY = ["--num-envs", "10", "--learning-starts", "200", "--replay-capacity", "2000", "--batch-size", "16", "--hidden", "8", "--epsilon-steps", "1000"]
