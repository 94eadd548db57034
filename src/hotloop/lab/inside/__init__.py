"""What runs in the script's own process: it sees, adds up and writes down, and never disturbs."""
