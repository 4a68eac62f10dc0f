"""The policies, one file each; ``table`` lists them."""
