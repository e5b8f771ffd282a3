"""Small vectors, quaternions and matrices as tuples of floats, so that kernels allocate nothing."""
