package org.horovod4j.benchmarks;

/// The conditions under which programs are comparable. Each setup has its own table.
record BenchmarkSetup(int np, String transport) {
    @Override
    public String toString() {
        return "%d processes over %s"
                .formatted(np, transport.equals("shm") ? "shared memory" : transport);
    }
}
