"""What this machine can do at best, and which of its limits a phase stands under."""
