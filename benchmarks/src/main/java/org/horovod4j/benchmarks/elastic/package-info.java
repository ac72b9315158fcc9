/// Measures the cost of elastic training: commits, and the pause when workers leave and join.
///
/// Start with `benchmarks/elastic.sh`, which runs [CommitCost] and [ElasticSteps].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.elastic`, `org.horovod4j.djl`, `org.horovod4j.djl.elastic`,
///   `org.horovod4j.benchmarks.report`, `ai.djl..`.
@NullMarked
package org.horovod4j.benchmarks.elastic;

import org.jspecify.annotations.NullMarked;
