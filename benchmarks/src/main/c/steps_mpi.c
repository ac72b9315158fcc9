/*
 * Times MPI_Allreduce on one flat buffer, with no barrier between steps. Follows the same steps as
 * org.horovod4j.benchmarks.runtime.StepTimer, so that the results are comparable.
 *
 * Usage: mpirun -np 2 steps_mpi NAME ROUND OUTPUT SECONDS SIZES (see measure.h). Each size is a turn.
 */
#include "mpi_library.h"

#define STEPS_MIN 5
#define STEPS_MAX 200000
#define SETTLING_STEPS 10

/* Microseconds of each step on this rank. Each step starts when the previous one ends. */
static void run_steps(float *values, size_t count, double *micros, int steps) {
    double start = now();
    for (int i = 0; i < steps; i++) {
        allreduce(values, count);
        double end = now();
        micros[i] = (end - start) * 1e6;
        start = end;
    }
}

static void time_steps(const struct library *library, const struct job *job, size_t bytes) {
    static int turn = 0;
    turn++;
    size_t count = bytes / sizeof(float);
    float *values = verified_zeros(library, bytes);
    double *micros = (double *)malloc(STEPS_MAX * sizeof(double));
    if (micros == NULL) {
        fail("memory for the times");
    }
    double fitting = job->seconds / warm_up(library, 0, values, count);
    int steps = fitting < STEPS_MIN ? STEPS_MIN : fitting > STEPS_MAX ? STEPS_MAX : (int)fitting;
    run_steps(values, count, micros, SETTLING_STEPS);
    run_steps(values, count, micros, steps);
    verify(library, values, count);
    print_line(library, job, bytes, turn, micros, steps);
    free(micros);
    free(values);
}

int main(int argc, char **argv) {
    return run_mpi(argc, argv, time_steps);
}
