//! The gRPC client side of the contract: connect, negotiate, call, classify.
