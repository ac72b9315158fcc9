/// Takes a function of a program to the ranks of a job, and their results back.
///
/// Start with [org.horovod4j.RankFunction] (what the user writes), then [FunctionReference] (what of it travels),
/// [RankMain] (the process that runs it) and [FunctionServer] (where it is fetched and results are
/// handed in).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.codec`, `org.horovod4j.frame`,
///   `org.horovod4j.log`, `org.horovod4j.network`, `org.horovod4j.option`, `org.horovod4j.security`.
/// - Invariant: no code travels, only the names of classes and methods that a rank has itself, and
///   values that `org.horovod4j.codec` carries.
@NullMarked
package org.horovod4j.launcher.function;

import org.jspecify.annotations.NullMarked;
