/// Programs to read and to copy from: one file tells one story.
///
/// Start with [Mnist], which trains a small network in plain Java on several processes;
/// [Pi] starts its processes by itself.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.launcher`,
///   `org.horovod4j.launcher.function`.
/// - Used by: people.
/// - Invariant: what concerns Horovod4J stands in the program itself, in Horovod's six steps.
@NullMarked
package org.horovod4j.examples;

import org.jspecify.annotations.NullMarked;
