/* The functions that measure.h needs, implemented with MPI. All MPI programs use them. */
#ifndef HOROVOD4J_MPI_PEER_H
#define HOROVOD4J_MPI_PEER_H

#include "measure.h"
#include <mpi.h>

static void allreduce(float *values, size_t count) {
    MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void barrier(void) {
    MPI_Barrier(MPI_COMM_WORLD);
}

static double slowest(double seconds) {
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

/* Initializes MPI, measures every size, and finalizes MPI. */
static int run_mpi(int argc, char **argv, measurement *measurement) {
    MPI_Init(&argc, &argv);
    if (argc != 6) {
        fprintf(stderr, "usage: %s NAME ROUND OUTPUT SECONDS SIZES\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    struct library library = {.allreduce = allreduce, .barrier = barrier, .slowest = slowest};
    MPI_Comm_rank(MPI_COMM_WORLD, &library.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &library.size);
    measure(&library, argv + 1, measurement);
    MPI_Finalize();
    return 0;
}

#endif
