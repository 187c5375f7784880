"""What every storey's API stands on: who asks, what they may, how it is said, and what a write is answered twice."""
