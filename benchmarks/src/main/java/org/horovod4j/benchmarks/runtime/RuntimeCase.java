package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.Result;

/// What was tried: all rounds of one trial make one figure.
record RuntimeCase(int np, Workload workload, String program) {
    private static final String OPEN_MPI = "openmpi";

    static RuntimeCase of(Result result) {
        return new RuntimeCase(result.np(), Workload.of(result.byteSize()), result.program());
    }

    /// Whether this was not a [StepVariant] of ours.
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
