"""The second engine: calls through grpcio's own channels, to compare with and to see gRPC's own balancers at work."""
