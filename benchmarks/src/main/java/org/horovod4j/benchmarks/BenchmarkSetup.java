package org.horovod4j.benchmarks;

/// What programs must share to stand in one table.
record BenchmarkSetup(int np, String transport) {
    @Override
    public String toString() {
        return "%d processes over %s"
                .formatted(np, transport.equals("shm") ? "shared memory" : transport);
    }
}
