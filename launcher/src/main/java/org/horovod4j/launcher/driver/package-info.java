/// Who belongs to an elastic job: which hosts there are, which workers run on them, and which rank
/// each of them has. All decisions, and nothing that acts on them.
///
/// Start with [ElasticDriver] (an [DriverEvent] in, [DriverAction]s out) and [GenerationManager] (how generations follow each
/// other), then [Ranking] (who gets which rank), [Blacklist] (which hosts to leave alone) and
/// [Discovery] (how hosts are found).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.launcher.plan`.
/// - Invariant: a decision depends on the events so far and the time given with each, on nothing
///   else, so that any course of a job can be replayed in a test.
@NullMarked
package org.horovod4j.launcher.driver;

import org.jspecify.annotations.NullMarked;
