package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Shape;

/// A trainable parameter of a model. It has a gradient of the same shape.
public record ModelParameter(String name, Shape shape) {}
