"""lbctl: see and test what client-side load balancing does to gRPC services registered in etcd."""

__version__ = "0.1.0"
