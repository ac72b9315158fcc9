/// Arithmetic kernels: combine, scale and divide arrays of every data type.
///
/// Start with [Kernels], the entry point for all types. It has two variants: [ScalarKernels], which
/// is easy to verify, and [VectorKernels], which is fast. They select the loop for a type and an
/// op. All loops of a type are in one file: read [FloatLoops] first.
///
/// - May depend on: `org.horovod4j`.
/// - Invariant: kernels work on off-heap memory only, and both variants give the same bits, except
///   for the payload of a NaN.
@NullMarked
package org.horovod4j.collectives.kernel;

import org.jspecify.annotations.NullMarked;
