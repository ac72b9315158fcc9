package org.horovod4j.training;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.option.FrameworkSettings;

/// The GPU that a rank computes on.
public final class GpuChoice {
    private GpuChoice() {}

    /// The number of this rank's GPU among those that the framework sees in this process. It is the
    /// local rank; 0 if the launcher shows each rank its own GPUs.
    ///
    /// @param gpus how many the framework sees, at least one
    /// @param framework for errors, as in `engine PyTorch`
    /// @throws ConfigurationException when this host has more ranks than GPUs, and ranks may not share
    ///     a GPU
    public static int of(Communicator communicator, int gpus, String framework) {
        FrameworkSettings settings = FrameworkSettings.of(communicator);
        if (settings.ownsGpus()) {
            return 0;
        }
        int localSize = communicator.localSize();
        if (localSize > gpus && !settings.sharesGpus()) {
            throw new ConfigurationException(
                    """
                    this host runs %d ranks, but %s sees %d of its GPUs: local rank %d has none.
                    Start at most %d ranks on this host, or let them see more GPUs (CUDA_VISIBLE_DEVICES). If \
                    each rank sees only its own GPUs, set HOROVOD_GPUS_PER_RANK; if ranks shall share a GPU, \
                    HOROVOD_SHARE_GPUS=1."""
                            .formatted(localSize, framework, gpus, gpus, gpus));
        }
        return communicator.localRank() % gpus;
    }
}
