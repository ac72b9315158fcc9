/// Checkpoints of a training in a folder: rank 0 writes and reads the files, and all ranks learn
/// whether that succeeded.
///
/// Start with [CheckpointFolder], then [CheckpointFile] (the format) and [BestMetric] (which
/// checkpoint is the best one).
///
/// ```java
/// CheckpointFolder folder = new CheckpointFolder(Path.of("checkpoints"), 3);
/// Map<String, String> metadata = folder.resume(comm, tensors);   // empty at the first start
/// int done = Integer.parseInt(metadata.getOrDefault("epoch", "0"));
/// for (int epoch = done + 1; epoch <= 10; epoch++) {
///     trainOneEpoch();
///     folder.save(comm, epoch, Map.of("epoch", String.valueOf(epoch)), tensors);
/// }
/// ```
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.option`,
///   `org.horovod4j.training`.
/// - Invariant: a file with the name of a checkpoint is complete, unless another program changed it.
@NullMarked
package org.horovod4j.checkpoint;

import org.jspecify.annotations.NullMarked;
