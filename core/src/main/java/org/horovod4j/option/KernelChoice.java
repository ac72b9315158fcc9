package org.horovod4j.option;

/// Which kernels do the arithmetic.
public enum KernelChoice {
    /// Vector instructions where the JVM has them.
    AUTO,
    SCALAR
}
