/// Finds operations that some ranks wait for and others have not submitted, and reports which ranks
/// are missing.
///
/// Start with [StallInspector], then [StallCandidate] (the three things that may stall).
/// [RankReport] is the state of one rank, [StateReport] that of all ranks, and [ProgramThread] where
/// the program of a rank is.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.codec`, `org.horovod4j.log`,
///   `org.horovod4j.spi`, `org.horovod4j.option`, `org.horovod4j.text`, `org.horovod4j.transport`,
///   `org.horovod4j.runtime.message`.
/// - Invariant: a report needs no thread of a rank's program, which may hang.
@NullMarked
package org.horovod4j.runtime.stall;

import org.jspecify.annotations.NullMarked;
