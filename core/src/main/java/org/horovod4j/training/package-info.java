/// Parts of a training loop that every framework needs, for plain Java programs and for adapters.
///
/// Start with [Epochs] and the learning rates that follow it, [LearningRateWarmup] and
/// [LearningRateSchedule]; then [TrainingProgress] (what rank 0 prints), [MetricTotals] (metrics of
/// all ranks together) and [TensorBroadcast] (equal weights on all ranks). How samples are divided
/// among ranks is in `org.horovod4j.data`. [GpuChoice] and [DeviceSupport] are for adapters.
///
/// ```java
/// Shard shard = Sampling.shuffled(42).shard(images, 32, comm);
/// Epochs epochs = new Epochs(shard.stepsPerEpoch());
/// LearningRate rate = LearningRateWarmup.to(0.1f * comm.size(), comm.size(), 5, epochs);
/// TrainingProgress progress = TrainingProgress.ofEpochs(10).communicator(comm).build();
/// TensorBroadcast.run(comm, "parameters", parameters, 0);
/// int update = 0;
/// for (int epoch = 0; epoch < 10; epoch++) {
///     for (int[] batch : shard.batches(epoch)) {
///         train(batch, rate.at(++update));
///         progress.batchDone(batch.length);
///     }
///     progress.epochDone();
/// }
/// progress.trainingDone();
/// ```
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.option`.
/// - Invariant: all ranks call a method that communicates, in the same order.
@NullMarked
package org.horovod4j.training;

import org.jspecify.annotations.NullMarked;
