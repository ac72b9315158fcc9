/// What a distributed optimizer does in every framework: decide when a gradient is complete, with
/// which others it travels and how, and wait for all of them before weights change.
///
/// Start with [GradientSettings] (what the user asks for), then [GradientReducer] (one training
/// step after another). A framework's adapter implements [Gradients] and tells the reducer when a
/// backward pass has computed a gradient.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.compression`,
///   `org.horovod4j.collectives.kernel`.
/// - Invariant: gradients are lent from launch until they are given back, and a reduction that was
///   launched is waited for even when another one fails.
@NullMarked
package org.horovod4j.optim;

import org.jspecify.annotations.NullMarked;
