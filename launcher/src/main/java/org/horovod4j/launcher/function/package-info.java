/// Runs a function of a program on the ranks of a job, and returns their results.
///
/// Start with [org.horovod4j.RankFunction] (what the user writes), then [FunctionReference] (what is
/// sent to the ranks), [RankMain] (the process that calls it) and [FunctionServer] (sends the
/// function, receives the results).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.codec`, `org.horovod4j.connection`,
///   `org.horovod4j.frame`, `org.horovod4j.log`, `org.horovod4j.network`, `org.horovod4j.option`,
///   `org.horovod4j.security`.
/// - Invariant: no code is sent, only the names of classes and methods that a rank has itself, and
///   values that `org.horovod4j.codec` encodes.
@NullMarked
package org.horovod4j.launcher.function;

import org.jspecify.annotations.NullMarked;
