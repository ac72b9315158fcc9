/// Decides what a job does: which hosts it uses, which workers run on them, and which rank each
/// worker has. It only decides; `org.horovod4j.launcher` acts.
///
/// Start with [Driver] (a [DriverEvent] in, [DriverAction]s out) and [FixedDriver]. For elastic
/// jobs read [ElasticDriver] and [GenerationManager], then [Ranking] (which rank each worker gets),
/// [Blacklist] (which hosts are not used for a while) and [DiscoveryWatch] (how hosts are found).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.text`, `org.horovod4j.launcher.plan`.
/// - Invariant: a decision depends only on the events so far and the time of each, so tests can
///   replay any sequence of events.
@NullMarked
package org.horovod4j.launcher.driver;

import org.jspecify.annotations.NullMarked;
