"""What the calls of a run send where not all send the same."""
