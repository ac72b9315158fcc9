package org.horovod4j.option;

/// The sections of the reference page.
public enum OptionGroup {
    WORLD(
            "Rank and size",
            "The rank of this process. `horovodrun` sets these for each process it starts."
                    + " Under [Slurm](slurm.md) and [mpirun](mpirun.md) they need not be set."),
    START("Start", "How `horovodrun` starts the processes. The processes do not read these."),
    RENDEZVOUS("Rendezvous", "How the ranks find and authenticate each other."),
    TRANSPORT("Transport", "How data is sent between ranks."),
    COLLECTIVES("Collectives", "How results are computed. The defaults suit almost every job."),
    DEVICES("GPUs", "Which backend runs collectives on tensors of a GPU; see [GPUs](gpus.md)."),
    FRAMEWORKS("Frameworks", "How Horovod4J uses the machine learning framework."),
    RUNTIME("The runtime", "When operations run, and which are fused."),
    STALLS(
            "Stalls",
            "What happens when some ranks wait for an operation that others do not start."),
    TIMELINE("Timeline", "A trace of all operations, for Chrome's tracing page or Perfetto."),
    AUTOTUNE(
            "Autotune",
            "Tries settings while the job trains, and keeps the best. It does not change what is set by"
                    + " hand: fusion threshold, cycle time, round and ring bytes, streams."),
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
