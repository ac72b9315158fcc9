#!/usr/bin/env bash
# What it costs to wait inside a collective: all ranks but the first enter an allreduce, the first
# comes a minute later. Usage: benchmarks/idle.sh [seconds]
source "$(dirname "$0")/common.sh"

seconds="${1:-60}"

build
for transport in shm tcp; do
    for np in 2 4; do
        say "$np processes over $transport wait $seconds s for rank 0"
        HOROVOD_TRANSPORT="$(transport_option "$transport")" ./horovodrun -np "$np" \
            java -cp "$classpath" org.horovod4j.benchmarks.IdleCpuBenchmark "$seconds"
    done
done
