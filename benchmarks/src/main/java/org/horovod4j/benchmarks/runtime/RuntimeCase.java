package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.Result;

import java.util.List;

/// The case of a result: all its rounds are summarized in one value.
record RuntimeCase(int np, Workload workload, String program) {
    /// The programs that are not a [StepVariant] of Horovod4J, in the order of the report.
    static final List<String> OTHER_PROGRAMS = List.of("openmpi", "horovod-mpi", "horovod-gloo");

    static RuntimeCase of(Result result) {
        return new RuntimeCase(result.np(), Workload.of(result.byteSize()), result.program());
    }

    /// Whether another program was measured, not a [StepVariant] of Horovod4J.
    boolean isOtherProgram() {
        return OTHER_PROGRAMS.contains(program);
    }

    RuntimeCase withProgram(String otherProgram) {
        return new RuntimeCase(np, workload, otherProgram);
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
