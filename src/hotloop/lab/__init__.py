"""What asks questions of a training loop. `inside/` runs in the script's process; everything else reads what was written down."""

HERE = __file__.rpartition("__init__")[0]  # frames of these files are nobody's business but ours
