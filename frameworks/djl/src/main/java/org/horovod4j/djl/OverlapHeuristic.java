package org.horovod4j.djl;

import ai.djl.Device;

import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.jspecify.annotations.Nullable;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Whether a backward pass leaves time in which gradients can be exchanged for nothing.
///
/// Ranks of one host exchange gradients through shared memory, which is work for processors and not
/// waiting. Where all processors compute, what a backward pass hides of it is taken from the pass, and
/// the threads that take turns cost more. There is time to spare while a rank waits for the network,
/// while a GPU computes, and on a processor that nobody computes on.
///
/// @param isMultiHost whether the job is on more than one host
/// @param isCpu whether the processors of the host compute, and no GPU
/// @param ranks how many ranks this host has
/// @param threads how many threads each of them computes with
/// @param processors how many processors they have
record OverlapHeuristic(
        boolean isMultiHost, boolean isCpu, int ranks, int threads, int processors) {
    /// DJL gives it to libtorch, after libtorch has looked at OMP_NUM_THREADS.
    private static final String THREADS_PROPERTY = "ai.djl.pytorch.num_threads";

    /// A number for each level of parallel loops within each other, of which the first counts.
    private static final Pattern OPENMP_THREADS = Pattern.compile("\\s*([0-9]{1,9})\\s*(,.*)?");

    /// Of this rank, as one of `processSet`, whose parameters are on `device`. Of a process set it is
    /// not known which hosts it is on, so those of the job are taken.
    static OverlapHeuristic of(ProcessSet processSet, Device device) {
        Communicator communicator = processSet.communicator();
        int processors = Runtime.getRuntime().availableProcessors();
        return new OverlapHeuristic(
                jobSize(communicator) > communicator.localSize(),
                device.getDeviceType().equals(Device.Type.CPU),
                communicator.localSize(),
                threads(
                        Integer.getInteger(THREADS_PROPERTY),
                        System.getenv("OMP_NUM_THREADS"),
                        processors),
                processors);
    }

    private static int jobSize(Communicator communicator) {
        return communicator.processSets().getFirst().size();
    }

    /// How many threads PyTorch computes with: as many as there are processors, unless it was told
    /// otherwise in a way that it understands.
    ///
    /// @param property DJL's, which comes last and so prevails
    /// @param openMp `OMP_NUM_THREADS`
    static int threads(@Nullable Integer property, @Nullable String openMp, int processors) {
        if (property != null && property > 0) {
            return property;
        }
        int ofOpenMp = firstNumber(openMp);
        return ofOpenMp > 0 ? ofOpenMp : processors;
    }

    /// 0 where there is none.
    private static int firstNumber(@Nullable String text) {
        Matcher matcher = OPENMP_THREADS.matcher(text == null ? "" : text);
        return matcher.matches() ? Integer.parseInt(matcher.group(1)) : 0;
    }

    /// Whether there is any.
    boolean overlapPays() {
        return isMultiHost || !isCpu || processors > (long) ranks * threads;
    }

    /// Why there is none, for people.
    String reasonAgainst() {
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
