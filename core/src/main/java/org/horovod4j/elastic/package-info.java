/// Training that goes on when workers come and go.
///
/// Start with [Elastic], then [State] and the two kinds that most programs need: [ObjectState] for
/// counters, with whatever else its [StateHandlers] know, and [TensorState] for parameters. [ElasticSampler]
/// shares out the data. How states keep copies: [CommitBuffers], [Snapshot].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.codec`, `org.horovod4j.data`,
///   `org.horovod4j.elastic.registry`, `org.horovod4j.log`.
/// - Invariant: what a generation begins with is the same on all its ranks, whatever happened before it.
@NullMarked
package org.horovod4j.elastic;

import org.jspecify.annotations.NullMarked;
