package org.horovod4j.launcher.elastic;

import org.horovod4j.ConfigurationException;

/// What bounds an elastic job.
///
/// @param first how many workers it starts with
/// @param least with how many it goes on
/// @param most it never has more
/// @param resets how often its workers may change
public record Limits(int first, int least, int most, int resets) {
    /// For `most` and `resets`: no bound.
    public static final int NONE = Integer.MAX_VALUE;

    public Limits {
        if (least > most) {
            throw new ConfigurationException(
                    "--min-np is %d, which is more than --max-np, %d. Exchange them."
                            .formatted(least, most));
        }
        if (first < least || first > most) {
            throw new ConfigurationException(
                    "-np is %d, but --min-np and --max-np allow %s. Give a number between the two."
                            .formatted(
                                    first,
                                    most == NONE
                                            ? "%d or more".formatted(least)
                                            : "%d to %d".formatted(least, most)));
        }
    }

    /// How many workers are enough for a generation.
    int enough(boolean isFirst) {
        return isFirst ? first : least;
    }
}
