/// Runs the ranks of a job inside the executors of Apache Spark.
///
/// Start with [HvdSpark] (what a program calls), then [FixedRun] (the job on the driver) and
/// [RankTask] (a rank in an executor). [TaskServer] and [TaskClient] connect the two. [ElasticRun] and
/// [WorkerSlots] do the same for elastic jobs.
///
/// - May depend on: `org.apache.spark..`, `org.horovod4j`, `org.horovod4j.codec`, `org.horovod4j.connection`,
///   `org.horovod4j.elastic.registry`, `org.horovod4j.frame`, `org.horovod4j.launcher`,
///   `org.horovod4j.launcher.driver`, `org.horovod4j.launcher.function`, `org.horovod4j.launcher.plan`, `org.horovod4j.launcher.process`,
///   `org.horovod4j.log`, `org.horovod4j.network`, `org.horovod4j.option`, `org.horovod4j.rendezvous`,
///   `org.horovod4j.runtime`, `org.horovod4j.security`, `org.horovod4j.spark`, `org.horovod4j.text`, `scala..`.
/// - Invariant: what Spark stores or shows (closures, event log, environment page) has no secret of a
///   job.
@NullMarked
package org.horovod4j.spark;

import org.jspecify.annotations.NullMarked;
