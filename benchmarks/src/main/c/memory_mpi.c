/*
 * Times how long all ranks together take to read and write a tensor each, in place and without any
 * communication. An allreduce in place has to move at least these bytes, so this is about the least
 * time that it can take. MPI is used for barriers only.
 *
 * Usage: mpirun -np 2 memory_mpi NAME ROUND OUTPUT SECONDS SIZES (see measure.h)
 */
#include "mpi_library.h"

static void increment(float *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        values[i] += 1;
    }
}

static void time_memory(const struct library *library, const struct job *job, size_t bytes) {
    struct library memory = *library;
    memory.allreduce = increment;
    float *values = verified_zeros(library, bytes);
    double samples[BATCHES_MAX];
    int batches = time_calls(&memory, job, values, bytes / sizeof(float), samples);
    print_line(library, job, bytes, 1, samples, batches);
    free(values);
}

int main(int argc, char **argv) {
    return run_mpi(argc, argv, time_memory);
}
