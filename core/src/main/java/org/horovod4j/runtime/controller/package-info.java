/// Makes sure that the ranks do the same thing, and knows when they no longer can.
///
/// Start with [Controller], through which every operation passes, then [WorldState], what this rank has
/// heard of the others.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`, `org.horovod4j.transport`,
///   `org.horovod4j.runtime.message`.
/// - Used by: `org.horovod4j.runtime`.
/// - Invariant: an operation ends the same way on every rank: well, with one [org.horovod4j.MismatchException],
///   or with the loss of a rank.
@NullMarked
package org.horovod4j.runtime.controller;

import org.jspecify.annotations.NullMarked;
