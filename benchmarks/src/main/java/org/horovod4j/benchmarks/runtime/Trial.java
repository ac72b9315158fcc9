package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.Result;

/// What was tried: all rounds of one trial make one figure.
record Trial(int np, Workload workload, String program) {
    private static final String PEER = "openmpi";

    static Trial of(Result result) {
        return new Trial(result.np(), Workload.of(result.byteSize()), result.program());
    }

    /// Whether this was not a [Variant] of ours.
    boolean isPeer() {
        return program.equals(PEER);
    }

    Trial peer() {
        return new Trial(np, workload, PEER);
    }

    Variant variant() {
        return Variant.parse(program);
    }

    Trial with(Variant another) {
        return new Trial(np, workload, another.toString());
    }

    Trial on(int processes) {
        return new Trial(processes, workload, program);
    }
}
