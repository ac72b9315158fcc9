package org.horovod4j.launcher.driver;

import org.horovod4j.ConfigurationException;

/// The limits of an elastic job.
///
/// @param initialWorkers how many workers it starts with
/// @param minWorkers with how many it continues after a loss
/// @param maxWorkers how many it has at most
/// @param maxResets how often its workers may change
public record ElasticLimits(int initialWorkers, int minWorkers, int maxWorkers, int maxResets) {
    /// For `maxWorkers` and `maxResets`: no limit.
    public static final int UNLIMITED = Integer.MAX_VALUE;

    public ElasticLimits {
        if (minWorkers > maxWorkers) {
            throw new ConfigurationException(
                    "--min-np is %d, which is more than --max-np, %d. Exchange them."
                            .formatted(minWorkers, maxWorkers));
        }
        if (initialWorkers < minWorkers || initialWorkers > maxWorkers) {
            throw new ConfigurationException(
                    "-np is %d, but --min-np and --max-np allow %s. Give a number between the two."
                            .formatted(
                                    initialWorkers,
                                    maxWorkers == UNLIMITED
                                            ? "%d or more".formatted(minWorkers)
                                            : "%d to %d".formatted(minWorkers, maxWorkers)));
        }
    }

    /// How many workers are enough for a generation.
    int requiredWorkers(boolean isFirst) {
        return isFirst ? initialWorkers : minWorkers;
    }
}
