package org.horovod4j.optim;

import org.horovod4j.Communicator;
import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.spi.JoinCounter;
import org.horovod4j.text.RankList;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.zip.CRC32C;

/// Checks that all ranks have the same parameters, bit for bit: in the first step, where a forgotten
/// broadcast shows, and then once in a number of steps, in case replicas drift apart.
///
/// A check costs a checksum of all parameters and an allreduce of 16 bytes, for which the ranks leave
/// a locked plan once. Only if the ranks differ do they exchange the checksums of all parameters, to
/// name those that differ.
///
/// While some ranks have joined, the others count more steps. After the join all ranks count from
/// zero again, and check in their next step.
final class ParameterCheck {
    private static final int CHUNK_BYTES = 1 << 26;
    private static final int MAX_PARAMETERS_SHOWN = 8;
    private static final int MAX_VALUES_SHOWN = 4;

    private final ProcessSet processSet;
    private final Gradients gradients;
    private final IntPredicate isShared;
    private final String name;
    private final int interval;

    /// The steps since the first one, or since the last join.
    private long steps;

    private int joins;

    /// @param isShared which parameters the ranks share
    /// @param name of the collectives
    /// @param interval the steps between two checks; 0 for none
    ParameterCheck(
            ProcessSet processSet,
            Gradients gradients,
            IntPredicate isShared,
            String name,
            int interval) {
        this.processSet = processSet;
        this.gradients = gradients;
        this.isShared = isShared;
        this.name = name;
        this.interval = interval;
    }

    /// Counts a step and, if it is due, checks. All ranks call this in each step, while their
    /// parameters should be equal.
    ///
    /// @throws MismatchException on all ranks, when the parameters of a rank differ
    void countStep() {
        if (interval == 0) {
            return;
        }
        int completed = JoinCounter.of(processSet.communicator());
        if (completed != joins) {
            joins = completed;
            steps = 0;
        }
        if (steps++ % interval == 0) {
            check(processSet.communicator());
        }
    }

    private void check(Communicator communicator) {
        Map<String, Long> checksums = checksums(communicator);
        long digest = digest(checksums);
        // the greatest digest, and the complement of the least one
        long[] extremes = {digest, ~digest};
        communicator.allreduce(name, extremes, ReduceOp.MAX);
        if (extremes[0] != ~extremes[1]) {
            throw new MismatchException(
                    report(
                            communicator.allgatherObject(
                                    name + ".checksums",
                                    new RankChecksums(
                                            processSet.jobRank(communicator.rank()), checksums))));
        }
    }

    /// The checksums of one rank.
    ///
    /// @param rank in the job
    private record RankChecksums(int rank, Map<String, Long> byParameter) {}

    private Map<String, Long> checksums(Communicator communicator) {
        Map<String, Long> checksums = new LinkedHashMap<>();
        List<String> names = gradients.names();
        for (int i = 0; i < names.size(); i++) {
            if (isShared.test(i)) {
                String parameter = names.get(i);
                gradients
                        .value(i)
                        .ifPresent(
                                value ->
                                        checksums.put(
                                                parameter,
                                                checksum(onHost(communicator, value).segment())));
            }
        }
        return checksums;
    }

    private static Tensor onHost(Communicator communicator, Tensor value) {
        if (value.device().isHost()) {
            return value;
        }
        Tensor copy = Tensor.zeros(value.dataType(), value.shape());
        communicator.copy(value, copy);
        return copy;
    }

    private static long checksum(MemorySegment bytes) {
        if (!bytes.isNative()) { // an array that is not of bytes has no byte buffer
            try (Arena arena = Arena.ofConfined()) {
                return checksum(arena.allocate(bytes.byteSize()).copyFrom(bytes));
            }
        }
        CRC32C checksum = new CRC32C();
        long size = bytes.byteSize();
        for (long at = 0; at < size; at += CHUNK_BYTES) {
            checksum.update(bytes.asSlice(at, Math.min(CHUNK_BYTES, size - at)).asByteBuffer());
        }
        return checksum.getValue();
    }

    private static long digest(Map<String, Long> checksums) {
        long digest = 0;
        for (Map.Entry<String, Long> each : checksums.entrySet()) {
            digest = mix(mix(digest ^ each.getKey().hashCode()) ^ each.getValue());
        }
        return digest;
    }

    /// The finalizer of SplitMix64: each bit of the result depends on all bits of `value`.
    private static long mix(long value) {
        long z = value + 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    private String report(List<RankChecksums> ranks) {
        Set<String> names = new LinkedHashSet<>();
        ranks.forEach(each -> names.addAll(each.byParameter.keySet()));
        List<String> differences = new ArrayList<>();
        for (String parameter : names) {
            List<List<Integer>> groups = ranksByValue(ranks, parameter);
            if (groups.size() > 1) {
                differences.add("\n  '%s': %s".formatted(parameter, describe(groups)));
            }
        }
        StringBuilder text = new StringBuilder(headline());
        differences.stream().limit(MAX_PARAMETERS_SHOWN).forEach(text::append);
        int more = differences.size() - MAX_PARAMETERS_SHOWN;
        if (more > 0) {
            text.append("\n  and %d more of %d parameters".formatted(more, names.size()));
        }
        return text.append('\n').append(remedy()).toString();
    }

    /// The ranks that have each value of a parameter, the most frequent value first.
    private static List<List<Integer>> ranksByValue(List<RankChecksums> ranks, String parameter) {
        Map<@Nullable Long, List<Integer>> byValue = new LinkedHashMap<>();
        for (RankChecksums each : ranks) {
            byValue.computeIfAbsent(each.byParameter.get(parameter), _ -> new ArrayList<>())
                    .add(each.rank);
        }
        return byValue.values().stream()
                .sorted((a, b) -> Integer.compare(b.size(), a.size()))
                .toList();
    }

    /// "one value on ranks 0-2, another on rank 3".
    private static String describe(List<List<Integer>> groups) {
        StringBuilder text = new StringBuilder();
        for (List<Integer> ranks : groups.subList(0, Math.min(groups.size(), MAX_VALUES_SHOWN))) {
            text.append(text.isEmpty() ? "one value on " : ", another on ")
                    .append(RankList.format(ranks));
        }
        int more = groups.size() - MAX_VALUES_SHOWN;
        return more > 0 ? text.append(", and %d more".formatted(more)).toString() : text.toString();
    }

    private boolean isFirst() {
        return steps == 1;
    }

    private String headline() {
        if (!isFirst()) {
            return "the parameters of the ranks have drifted apart: they were equal in step %d, and differ in step %d"
                    .formatted(steps - interval, steps);
        }
        return joins == 0
                ? "the ranks start with different parameters"
                : "the parameters of the ranks differ after a join";
    }

    private String remedy() {
        if (!isFirst()) {
            return """
                   Look for code that changes parameters on some ranks only, and for optimizers with different states or \
                   learning rates (broadcastOptimizerState). Declare parameters that ranks do not share as local. \
                   HOROVOD_PARAMETER_CHECK_INTERVAL=0 switches this check off.""";
        }
        return joins == 0
                ? """
                  Call broadcastParameters on all ranks after the parameters are initialised, before the first backward \
                  pass. Declare parameters that ranks do not share as local. \
                  HOROVOD_PARAMETER_CHECK_INTERVAL=0 switches this check off."""
                : """
                  Call broadcastParameters and broadcastOptimizerState on all ranks after the join, with the rank that it \
                  returned as root.""";
    }
}
