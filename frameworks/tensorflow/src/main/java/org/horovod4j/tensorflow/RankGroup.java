package org.horovod4j.tensorflow;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ProcessSet;
import org.horovod4j.option.Environment;
import org.horovod4j.option.FrameworkSettings;
import org.horovod4j.training.CommunicatorProvider;

import java.util.Optional;

/// The ranks of a collective in a graph.
///
/// @param provider of the communicator at the time of a run: a graph may outlive a generation of an
///     elastic job
/// @param processSet empty for the ranks of the communicator
record RankGroup(CommunicatorProvider provider, Optional<ProcessSet> processSet) {
    static final RankGroup ALL = new RankGroup(CommunicatorProvider.FROM_HVD, Optional.empty());

    Communicator communicator() {
        return processSet.isPresent() ? processSet.get().communicator() : provider.current();
    }

    /// The settings of this rank. A program may build its graph before `Hvd.init`: then those that
    /// `init` will read.
    FrameworkSettings settings() {
        return provider.equals(CommunicatorProvider.FROM_HVD) && !Hvd.isInitialized()
                ? FrameworkSettings.from(new Environment(System.getenv()))
                : FrameworkSettings.of(provider.current());
    }

    RankGroup in(ProcessSet set) {
        return new RankGroup(provider, Optional.of(set));
    }
}
