#!/usr/bin/env bash
# Measures the CPU time of waiting in a collective: all ranks except rank 0 enter an allreduce, and
# rank 0 enters it a minute later. Usage: benchmarks/idle.sh [seconds]
source "$(dirname "$0")/common.sh"

seconds="${1:-60}"

build
for transport in shm tcp; do
    for np in 2 4; do
        say "$np processes over $transport wait $seconds s for rank 0"
        HOROVOD_TRANSPORT="$(transport_option "$transport")" "$horovodrun" -np "$np" \
            java -cp "$classpath" org.horovod4j.benchmarks.IdleCpuBenchmark "$seconds"
    done
done
