package org.horovod4j.scheduler;

import org.horovod4j.ConfigurationException;
import org.horovod4j.spi.RankAndSize;

import java.util.Map;
import java.util.Optional;

/// A snapshot of environment variables. A blank variable counts as not set.
record SchedulerVariables(Map<String, String> values) {
    private static final String REMEDY =
            "Set HOROVOD_RANK and HOROVOD_SIZE, which take precedence, or unset what a scheduler left"
                    + " behind.";

    SchedulerVariables {
        values = Map.copyOf(values);
    }

    Optional<String> find(String name) {
        return Optional.ofNullable(values.get(name))
                .map(String::strip)
                .filter(value -> !value.isEmpty());
    }

    Optional<Integer> integer(String name) {
        return find(name).map(text -> parse(name, text));
    }

    private static int parse(String name, String text) {
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new ConfigurationException(
                    "%s is '%s', which is not a whole number. %s".formatted(name, text, REMEDY), e);
        }
    }

    /// Reads a rank and a size, which must be set together.
    ///
    /// @throws ConfigurationException when only one is set, or the rank is not below the size
    Optional<RankAndSize> pair(String rankName, String sizeName) {
        Optional<Integer> rank = integer(rankName);
        Optional<Integer> size = integer(sizeName);
        if (rank.isPresent() != size.isPresent()) {
            throw new ConfigurationException(
                    "%s is set, but %s is not. %s"
                            .formatted(
                                    rank.isPresent() ? rankName : sizeName,
                                    rank.isPresent() ? sizeName : rankName,
                                    REMEDY));
        }
        if (rank.isEmpty()) {
            return Optional.empty();
        }
        if (rank.get() < 0 || rank.get() >= size.get()) {
            throw new ConfigurationException(
                    "%s is %d and %s is %d, but ranks go from 0 to %d. %s"
                            .formatted(
                                    rankName,
                                    rank.get(),
                                    sizeName,
                                    size.get(),
                                    size.get() - 1,
                                    REMEDY));
        }
        return Optional.of(new RankAndSize(rank.get(), size.get()));
    }
}
