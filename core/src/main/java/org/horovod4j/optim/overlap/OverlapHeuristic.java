package org.horovod4j.optim.overlap;

import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;

/// Whether overlap of communication and backward pays on this host.
///
/// Ranks of one host exchange gradients through shared memory, which takes processor time. If all
/// processors compute, overlap only takes that time from the backward pass and adds context
/// switches. Overlap pays while ranks wait for the network, while a GPU computes, or when a processor
/// is idle.
///
/// @param isMultiHost whether the job runs on more than one host
/// @param isCpu whether ranks compute on the CPU and not on a GPU
/// @param ranks the number of ranks on this host
/// @param threads the number of threads that each rank computes with
/// @param processors the number of processors of this host
public record OverlapHeuristic(
        boolean isMultiHost, boolean isCpu, int ranks, int threads, int processors) {
    /// The heuristic for this rank. The hosts of a process set are unknown, so those of the job are
    /// used.
    ///
    /// @param isCpu whether this rank computes on the CPU
    /// @param threads the number of threads that it computes with
    public static OverlapHeuristic of(ProcessSet processSet, boolean isCpu, int threads) {
        Communicator communicator = processSet.communicator();
        int jobSize = communicator.processSets().getFirst().size();
        return new OverlapHeuristic(
                jobSize > communicator.localSize(),
                isCpu,
                communicator.localSize(),
                threads,
                Runtime.getRuntime().availableProcessors());
    }

    public boolean overlapPays() {
        return isMultiHost || !isCpu || processors > (long) ranks * threads;
    }

    /// Why overlap does not pay, for users.
    public String reasonAgainst() {
        return "every processor of this host computes: %s of %s on %s"
                .formatted(
                        count(ranks, "rank"),
                        count(threads, "thread"),
                        count(processors, "processor"));
    }

    private static String count(int number, String what) {
        return number + " " + what + (number == 1 ? "" : "s");
    }
}
