/// The distributed optimizer of every framework: it decides when a gradient is complete, reduces it
/// alone or in a group, and waits for all reductions before weights change.
///
/// Start with [GradientSettings] (the options), then [GradientReducer] (one training step after
/// another). The adapter of a framework implements [Gradients] and calls the reducer when a backward
/// pass has computed a gradient.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.compression`,
///   `org.horovod4j.collectives.kernel`, `org.horovod4j.log`, `org.horovod4j.option`,
///   `org.horovod4j.spi`, `org.horovod4j.text`.
/// - Invariant: the reducer uses the memory of a gradient from [Gradients#acquire] until
///   [Gradients#setReduced], and waits for every reduction that it has launched, even when another
///   one fails.
@NullMarked
package org.horovod4j.optim;

import org.jspecify.annotations.NullMarked;
