package org.horovod4j.launcher.command;

import picocli.CommandLine.Model.UsageMessageSpec;

/// The text of the help around the list of flags.
final class Usage {
    // Lines have at most 78 characters: picocli would break longer ones.
    private static final String FOOTER =
            """

            The program
              java means the java on the PATH if that is Java 25 or newer, else
              the one that runs horovodrun. A java program gets the options
                --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED
              unless it names that module itself. Its standard input is empty.
              OMP_NUM_THREADS is the processors of its host divided by the
              processes there, unless it is set.

            Examples
              horovodrun -np 4 java -cp app.jar Train --epochs 3
              horovodrun -np 8 -H gpu1:4,gpu2:4 --verbose -- ./train.sh
              horovodrun --job job.yml --fusion-threshold-mb 32
              horovodrun -np 4 --min-np 2 -H gpu1:2,gpu2:2 java -cp app.jar Train
              horovodrun -np 4 --host-discovery-script ./hosts.sh java -cp app.jar Train
              horovodrun --check-build java -cp app.jar Train

            Of Horovod's flags, those about hierarchical allgather, torus allreduce, NCCL streams,
            MPI threads, Gloo's timeout and the cache are accepted and do nothing here.

            Exit codes
              0    all processes ended with 0
              1    a process failed
              2    the command line is wrong, nothing was started
              130  ended by Ctrl-C (SIGINT)
              143  ended by SIGTERM""";

    private Usage() {}

    /// For the everyday flags, with one example and without the rest.
    static void describeShort(UsageMessageSpec usage) {
        describeSynopsis(usage);
        usage.description("", "Starts a program N times, as the ranks 0 to N-1 of one job.");
        usage.footer("", "Example: horovodrun -np 4 java -cp app.jar Train --epochs 3");
    }

    private static void describeSynopsis(UsageMessageSpec usage) {
        usage.customSynopsis(
                "horovodrun -np N [-H HOST:SLOTS,…] [options] [--] command…",
                "       horovodrun --job FILE [options]",
                "       horovodrun --check-build [command…]");
        usage.sortOptions(false);
    }

    static void describe(UsageMessageSpec usage) {
        describeSynopsis(usage);
        usage.description(
                "",
                "Starts a program N times, as the ranks 0 to N-1 of one job. Each line of output is"
                        + " marked with its rank. When one process fails, the others are ended, and"
                        + " the first failure is reported. With --min-np or --host-discovery-script the job"
                        + " is elastic: it continues when processes fail, and with new ones.");
        usage.footer(FOOTER.split("\n"));
    }
}
