"""How messages are written: JSON to protobuf and back, and what may be expected of a reply."""
