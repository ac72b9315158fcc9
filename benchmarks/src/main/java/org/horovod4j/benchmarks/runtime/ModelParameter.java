package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Shape;

/// What a model trains and has a gradient for.
public record ModelParameter(String name, Shape shape) {}
