package org.horovod4j.option;

import java.time.Duration;
import java.util.List;

/// The options of elastic jobs: what the launcher gives a worker in place of a rank, and how long
/// the launcher waits.
public final class ElasticOptions {
    public static final Option<Boolean> ELASTIC =
            Option.bool()
                    .environment("HOROVOD_ELASTIC")
                    .byDefault(false)
                    .in(OptionGroup.WORLD)
                    .help(
                            "Whether this process is a worker of an [elastic](elastic.md) job. The launcher"
                                    + " assigns its rank, and a new one when workers join or leave.");

    public static final Option<Integer> WORKER =
            Option.integer()
                    .environment("HOROVOD_ELASTIC_WORKER")
                    .atLeast(0)
                    .in(OptionGroup.WORLD)
                    .help("The number of this process among all that an elastic job has started.");

    public static final Option<Integer> PORT =
            Option.integer()
                    .environment("HOROVOD_ELASTIC_PORT")
                    .atLeast(1)
                    .atMost(65_535)
                    .in(OptionGroup.WORLD)
                    .help(
                            "The port, at the rendezvous address, where a worker of an elastic job gets"
                                    + " its rank.");

    public static final Option<Duration> TIMEOUT =
            Option.seconds("elastic-timeout")
                    .environment("HOROVOD_ELASTIC_TIMEOUT")
                    .byDefault(Duration.ofMinutes(10))
                    .atLeast(Duration.ofSeconds(1))
                    .in(OptionGroup.START)
                    .help(
                            "How long an elastic job waits for enough processes, at the"
                                    + " start and after a failure, before it fails.");

    private ElasticOptions() {}

    static List<Option<?>> all() {
        return List.of(ELASTIC, WORKER, PORT, TIMEOUT);
    }
}
