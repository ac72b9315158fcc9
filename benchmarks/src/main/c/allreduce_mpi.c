/*
 * Times MPI_Allreduce.
 *
 * Usage: mpirun -np 2 allreduce_mpi NAME ROUND OUTPUT SECONDS SIZES (see measure.h)
 */
#include "mpi_library.h"

int main(int argc, char **argv) {
    return run_mpi(argc, argv, time_batches);
}
