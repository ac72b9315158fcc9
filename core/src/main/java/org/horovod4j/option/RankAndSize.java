package org.horovod4j.option;

import org.horovod4j.ConfigurationException;

import java.util.Optional;

/// A rank and the number of ranks: of the job, of a host, or across hosts.
public record RankAndSize(int rank, int size) {
    /// The only process.
    public static final RankAndSize SINGLE = new RankAndSize(0, 1);

    public RankAndSize {
        if (rank < 0 || rank >= size) {
            throw new IllegalArgumentException("no rank %d among %d".formatted(rank, size));
        }
    }

    /// Reads a pair of options, which make sense together alone.
    static Optional<RankAndSize> from(
            Environment environment, Option<Integer> rankOption, Option<Integer> sizeOption) {
        Optional<Integer> rank = environment.find(rankOption);
        Optional<Integer> size = environment.find(sizeOption);
        if (rank.isEmpty() && size.isEmpty()) {
            return Optional.empty();
        }
        if (rank.isEmpty()) {
            throw half(sizeOption, rankOption);
        }
        if (size.isEmpty()) {
            throw half(rankOption, sizeOption);
        }
        if (rank.get() >= size.get()) {
            throw new ConfigurationException(
                    "%s is %d and %s is %d, but ranks go from 0 to %d"
                            .formatted(
                                    rankOption,
                                    rank.get(),
                                    sizeOption,
                                    size.get(),
                                    size.get() - 1));
        }
        return Optional.of(new RankAndSize(rank.get(), size.get()));
    }

    private static ConfigurationException half(Option<?> given, Option<?> missing) {
        return new ConfigurationException(
                """
                %s is set, but %s is not
                Set both or neither; horovodrun sets them for each process it starts."""
                        .formatted(given, missing));
    }
}
