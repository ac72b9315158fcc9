/// Elastic DJL training: it continues when workers join or leave.
///
/// Start with [DjlState], a state for `org.horovod4j.elastic.Elastic`; then [ElasticListener] and
/// [ElasticBatches], with which `EasyTrain.fit` continues in the middle of an epoch.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.elastic`, `org.horovod4j.training`,
///   `org.horovod4j.djl`, `ai.djl..`.
/// - Invariant: a commit is restored to the arrays of that moment, never to memory that an array had
///   before.
@NullMarked
package org.horovod4j.djl.elastic;

import org.jspecify.annotations.NullMarked;
