/// Kernels of TensorFlow ops that are written in Java, through TensorFlow's C API for kernels and the
/// foreign function API.
///
/// Start with [OpKernels] (registers ops and kernels, and is called by TensorFlow), then [Execution]
/// (one run of a node: its inputs and outputs) and [NodeFunction] (what a node does with them).
/// [LibTensorFlow] finds and calls functions.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.natives`, `org.horovod4j.option`,
///   `org.tensorflow..`.
/// - Invariant: no exception leaves a function that TensorFlow calls, since that would end the JVM.
@NullMarked
package org.horovod4j.tensorflow.kernel;

import org.jspecify.annotations.NullMarked;
