/// Finds what some ranks wait for and others have not come to, and tells who lacks what.
///
/// Start with [StallInspector], then [StallCandidate], the three things that may stall; [RankReport] is what
/// a rank says of itself when asked, [StateReport] what all of them say together.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.codec`, `org.horovod4j.log`,
///   `org.horovod4j.spi`, `org.horovod4j.option`, `org.horovod4j.text`, `org.horovod4j.transport`,
///   `org.horovod4j.runtime.message`.
/// - Invariant: a report is made without the help of any rank's program, which may hang.
@NullMarked
package org.horovod4j.runtime.stall;

import org.jspecify.annotations.NullMarked;
