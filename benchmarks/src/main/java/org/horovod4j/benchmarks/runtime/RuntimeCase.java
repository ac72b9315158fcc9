package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.Result;

/// The case of a result: all its rounds are summarized in one value.
record RuntimeCase(int np, Workload workload, String program) {
    private static final String OPEN_MPI = "openmpi";

    static RuntimeCase of(Result result) {
        return new RuntimeCase(result.np(), Workload.of(result.byteSize()), result.program());
    }

    /// Whether Open MPI was measured, not a [StepVariant] of Horovod4J.
    boolean isOpenMpi() {
        return program.equals(OPEN_MPI);
    }

    RuntimeCase openMpi() {
        return new RuntimeCase(np, workload, OPEN_MPI);
    }

    StepVariant variant() {
        return StepVariant.parse(program);
    }

    RuntimeCase with(StepVariant another) {
        return new RuntimeCase(np, workload, another.toString());
    }

    RuntimeCase withProcesses(int processes) {
        return new RuntimeCase(processes, workload, program);
    }
}
