/// The API for training programs: [Hvd] and [Communicator], [ProcessSet], [Tensor] and [Handle], the
/// options of collectives, and the exceptions.
///
/// Start with [Hvd], whose every method is one line over a [Communicator].
///
/// - May depend on: `org.horovod4j.runtime` (by [Hvd] alone).
/// - Invariant: packages below the runtime use the values of this package, never [Hvd].
/// - Invariant: the only static state of the project is the communicator inside [Hvd].
@NullMarked
package org.horovod4j;

import org.jspecify.annotations.NullMarked;
