package org.horovod4j.option;

/// The chapters of the reference page.
public enum OptionGroup {
    WORLD(
            "The world",
            "Who this process is among all. `horovodrun` sets these for each process it starts;"
                    + " under [Slurm](slurm.md) and [mpirun](mpirun.md) they need not be set."),
    START("Start", "How `horovodrun` starts the processes; they themselves do not read these."),
    RENDEZVOUS("Rendezvous", "How the ranks find and trust each other."),
    TRANSPORT("Transport", "How bytes move between ranks."),
    COLLECTIVES("Collectives", "How results are computed. Rarely worth a change."),
    FRAMEWORKS("Frameworks", "How Horovod4J reaches into the framework that computes."),
    RUNTIME("The runtime", "When operations run, and which of them travel together."),
    STALLS(
            "Stalls",
            "What happens when some ranks wait for an operation that others do not start."),
    TIMELINE("Timeline", "A trace of all operations, for Chrome's tracing page or Perfetto."),
    AUTOTUNE(
            "Autotune",
            "Tries settings while the job trains, and keeps the best. It leaves alone what is set by hand:"
                    + " fusion threshold, cycle time, round and ring bytes, streams."),
    LOGGING("Logging", "What is written to standard error; see [logging](logging.md).");

    private final String title;
    private final String summary;

    OptionGroup(String title, String summary) {
        this.title = title;
        this.summary = summary;
    }

    public String title() {
        return title;
    }

    public String summary() {
        return summary;
    }
}
