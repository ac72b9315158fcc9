package org.horovod4j.option;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/// The options that choose backends, for tensors in main memory and on a GPU.
public final class BackendOptions {
    public static final Option<String> CPU_OPERATIONS =
            Option.text("cpu-operations")
                    .environment("HOROVOD_CPU_OPERATIONS")
                    .whenUnset("the first that all ranks can use")
                    .in(OptionGroup.COLLECTIVES)
                    .help(
                            "The backend for tensors in main memory: `CPU`, or the name of one that the"
                                    + " program has on its class path. A collective that it does not have"
                                    + " runs by the next one.");

    private static final String ANY = "the first of NCCL, CUDA_IPC and HOST that all ranks can use";

    public static final Option<String> GPU_OPERATIONS =
            Option.text("gpu-operations")
                    .environment("HOROVOD_GPU_OPERATIONS")
                    .whenUnset(ANY)
                    .in(OptionGroup.DEVICES)
                    .help(
                            "The backend for tensors on a GPU: `NCCL`, `CUDA_IPC` for ranks that share a GPU,"
                                    + " or `HOST`, which copies them through main memory. A collective that"
                                    + " it does not have runs by the next one.");

    public static final Option<String> GPU_ALLREDUCE = of("allreduce");
    public static final Option<String> GPU_ALLGATHER = of("allgather");
    public static final Option<String> GPU_BROADCAST = of("broadcast");
    public static final Option<String> GPU_ALLTOALL = of("alltoall");
    public static final Option<String> GPU_REDUCESCATTER = of("reducescatter");

    public static final Option<Boolean> HIERARCHICAL_ALLREDUCE =
            Option.bool("hierarchical-allreduce", "no-hierarchical-allreduce")
                    .environment("HOROVOD_HIERARCHICAL_ALLREDUCE")
                    .byDefault(false)
                    .in(OptionGroup.DEVICES)
                    .help(
                            "Whether an allreduce on GPUs uses NCCL, or CUDA_IPC for ranks that share a GPU, inside"
                                    + " each host only, and main memory between hosts. HOST, and tensors in"
                                    + " main memory, always work inside each host first.");

    /// The provider of NCCL reads it, because a process opens the library once for all its ranks.
    public static final Option<String> NCCL_LIBRARY =
            Option.text()
                    .environment("HOROVOD_NCCL_LIBRARY")
                    .whenUnset("the one that the process has loaded, the system's, or CUDA's")
                    .in(OptionGroup.DEVICES)
                    .help(
                            "The file or folder of NCCL's library, for tensors on a GPU; for example the"
                                    + " folder `nvidia/nccl` of a Python environment.");

    private BackendOptions() {}

    private static Option<String> of(String collective) {
        return Option.text()
                .environment("HOROVOD_GPU_" + collective.toUpperCase(Locale.ROOT))
                .whenUnset("as HOROVOD_GPU_OPERATIONS says")
                .in(OptionGroup.DEVICES)
                .help("The backend for %s on a GPU.".formatted(collective));
    }

    static List<Option<?>> all() {
        List<Option<?>> all = new ArrayList<>(backends());
        all.add(HIERARCHICAL_ALLREDUCE);
        all.add(NCCL_LIBRARY);
        return all;
    }

    /// Those that name a backend.
    static List<Option<String>> backends() {
        return List.of(
                CPU_OPERATIONS,
                GPU_OPERATIONS,
                GPU_ALLREDUCE,
                GPU_ALLGATHER,
                GPU_BROADCAST,
                GPU_ALLTOALL,
                GPU_REDUCESCATTER);
    }
}
