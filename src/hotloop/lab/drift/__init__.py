"""Whether a loop gets slower or faster as it trains, why, and how long the rest will take."""
