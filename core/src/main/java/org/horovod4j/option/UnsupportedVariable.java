package org.horovod4j.option;

import java.util.List;
import java.util.Optional;

/// Variables of Horovod that have no effect here. Job scripts contain them, so a warning tells why,
/// and which option to use instead.
///
/// @param names a trailing `*` matches any end
/// @param reason a sentence
/// @param needsWarning whether the job may behave differently from what the user expects
record UnsupportedVariable(List<String> names, String reason, boolean needsWarning) {
    private static final String ANY_END = "*";

    private static final List<UnsupportedVariable> ALL =
            List.of(
                    withWarning(
                            "With several hosts, Horovod4J always gathers inside each host first. On GPUs NCCL"
                                    + " chooses the algorithm.",
                            "HOROVOD_HIERARCHICAL_ALLGATHER"),
                    withWarning(
                            "The algorithm of an allreduce between hosts is set by %s."
                                    .formatted(Options.ALLREDUCE_ALGORITHM),
                            "HOROVOD_TORUS_ALLREDUCE"),
                    withWarning(
                            "On a GPU each process set has one stream, packs tensors in one kernel and"
                                    + " completes by events. There are no NVTX ranges and XLA"
                                    + " operations.",
                            "HOROVOD_NUM_NCCL_STREAMS",
                            "HOROVOD_BATCH_D2D_MEMCOPIES",
                            "HOROVOD_ENABLE_ASYNC_COMPLETION",
                            "HOROVOD_DISABLE_NVTX_RANGES",
                            "HOROVOD_ENABLE_XLA_OPS"),
                    withWarning(
                            "MPI, Gloo and oneCCL are not used. The transport is set by %s."
                                    .formatted(Options.TRANSPORT),
                            "HOROVOD_CONTROLLER",
                            "HOROVOD_MPI_THREADS_DISABLE",
                            "HOROVOD_ADASUM_MPI_CHUNK_SIZE",
                            "HOROVOD_CCL_*"),
                    withWarning(
                            "How long ranks wait for each other is set by %s at the start and by %s later on."
                                    .formatted(Options.START_TIMEOUT, Options.HEARTBEAT_TIMEOUT),
                            "HOROVOD_GLOO_TIMEOUT_SECONDS"),
                    withWarning(
                            "Jobs on Spark are set up by the methods of HvdSpark.",
                            "HOROVOD_SPARK_*"),
                    withWarning(
                            "Nothing is compiled on your machine: Horovod4J runs on the JDK alone.",
                            "HOROVOD_WITH_*",
                            "HOROVOD_WITHOUT_*",
                            "HOROVOD_GPU",
                            "HOROVOD_ALLOW_MIXED_GPU_IMPL",
                            "HOROVOD_CUDA_*",
                            "HOROVOD_ROCM_*",
                            "HOROVOD_NCCL_HOME",
                            "HOROVOD_NCCL_INCLUDE",
                            "HOROVOD_NCCL_LIB",
                            "HOROVOD_NCCL_LINK",
                            "HOROVOD_NVTX_*",
                            "HOROVOD_BUILD_*",
                            "HOROVOD_CMAKE",
                            "HOROVOD_DEBUG",
                            "HOROVOD_MIXED_INSTALL",
                            "HOROVOD_TEST_GPU"),
                    new UnsupportedVariable(
                            List.of("HOROVOD_DYNAMIC_PROCESS_SETS"),
                            "Process sets can always be added and removed.",
                            false));

    UnsupportedVariable {
        names = List.copyOf(names);
    }

    private static UnsupportedVariable withWarning(String reason, String... names) {
        return new UnsupportedVariable(List.of(names), reason, true);
    }

    static List<UnsupportedVariable> all() {
        return ALL;
    }

    static Optional<UnsupportedVariable> find(String variable) {
        return ALL.stream().filter(each -> each.matches(variable)).findFirst();
    }

    private boolean matches(String variable) {
        return names.stream()
                .anyMatch(
                        name ->
                                name.endsWith(ANY_END)
                                        ? variable.startsWith(name.substring(0, name.length() - 1))
                                        : variable.equals(name));
    }

    Optional<String> warning(String variable) {
        return needsWarning
                ? Optional.of("%s has no effect here. %s".formatted(variable, reason))
                : Optional.empty();
    }
}
