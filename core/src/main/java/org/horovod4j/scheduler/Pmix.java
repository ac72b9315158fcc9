package org.horovod4j.scheduler;

import org.horovod4j.ConfigurationException;

import java.util.Optional;

/// PMIx, which tells a process its rank by a variable and all else by calls into its library. The
/// launchers that use it have variables of their own, so this is the case of one that we do not
/// know.
final class Pmix {
    static final String RANK = "PMIX_RANK";

    private Pmix() {}

    /// To run as a world of one would hide that there are others.
    static Optional<SchedulerAssignment> find(SchedulerVariables schedulerVariables) {
        if (schedulerVariables.find(RANK).isEmpty()) {
            return Optional.empty();
        }
        throw new ConfigurationException(
                """
                %s is %s, but no variable says how many processes there are
                Set HOROVOD_RANK to $%s and HOROVOD_SIZE to their number, or unset %s to be alone."""
                        .formatted(RANK, schedulerVariables.find(RANK).get(), RANK, RANK));
    }
}
