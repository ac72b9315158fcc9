/// The arithmetic: combine, scale and divide arrays of every data type.
///
/// Start with [Kernels], which does all of it for any type. Below it are two twins: [ScalarKernels],
/// which anyone can check by eye, and [VectorKernels], which is fast. They pick the loop for a type
/// and an op, and the loops of a type lie side by side in one file: [FloatLoops] is the one to read
/// first.
///
/// - May depend on: `org.horovod4j`.
/// - Invariant: kernels see memory outside the heap only, and the two twins agree bit by bit,
///   but for the payload of a NaN.
@NullMarked
package org.horovod4j.collectives.kernel;

import org.jspecify.annotations.NullMarked;
