/// Training that continues when workers join and leave.
///
/// Start with [Elastic], then [State] and the two states that most programs need: [ObjectState] for
/// counters and for the values that its [StateHandlers] support, and [TensorState] for parameters.
/// [ElasticSampler] divides the data. [CommitBuffers] and [Snapshot] keep copies.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.codec`, `org.horovod4j.data`,
///   `org.horovod4j.elastic.registry`, `org.horovod4j.log`.
/// - Invariant: a generation begins with the same state on all its ranks.
@NullMarked
package org.horovod4j.elastic;

import org.jspecify.annotations.NullMarked;
