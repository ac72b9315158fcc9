/// What elastic training costs: commits, and how long a job stands still when workers go and come.
///
/// Start with `benchmarks/elastic.sh`, which runs [CommitCost] and [ElasticSteps].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.elastic`, `org.horovod4j.djl`, `org.horovod4j.djl.elastic`,
///   `org.horovod4j.benchmarks.report`, `ai.djl..`.
@NullMarked
package org.horovod4j.benchmarks.elastic;

import org.jspecify.annotations.NullMarked;
