/*
 * Measures an allreduce. Follows the same steps as org.horovod4j.benchmarks.CollectiveTimer, so
 * that the results are comparable. Each library provides its own allreduce, barrier and maximum.
 *
 * Arguments of each program: NAME OUTPUT SECONDS SIZES. NAME is the name in the results, OUTPUT the
 * file to which rank 0 appends its results, SECONDS the measuring time for each size, and SIZES a
 * comma-separated list of byte sizes.
 */
#ifndef HOROVOD4J_MEASURE_H
#define HOROVOD4J_MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Compiled code only has to warm up caches, buffers and connections. */
#define WARM_UP_SECONDS 0.2
#define BATCHES_MIN 5
#define BATCHES_MAX 25

struct library {
    int rank;
    int size;
    void (*allreduce)(float *values, size_t count); /* sum, in place */
    void (*barrier)(void);
    double (*slowest)(double seconds); /* the maximum over all ranks, on all ranks */
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Seconds per allreduce on the slowest rank, measured over `iterations` consecutive calls. */
static double batch(const struct library *library, float *values, size_t count, long iterations) {
    library->barrier();
    double start = now();
    for (long i = 0; i < iterations; i++) {
        library->allreduce(values, count);
    }
    return library->slowest(now() - start) / iterations;
}

/* Doubles the batch until warm. All ranks use the slowest rank's time, so they stop together. */
static double warm_up(const struct library *library, float *values, size_t count) {
    double spent = 0;
    double each = 0;
    for (long iterations = 1; spent < WARM_UP_SECONDS; iterations *= 2) {
        each = batch(library, values, count, iterations);
        spent += each * iterations;
    }
    return each;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Interpolates linearly between the two nearest samples. */
static double quantile(const double *sorted, int length, double fraction) {
    double at = fraction * (length - 1);
    int below = (int)at;
    int above = below + 1 < length ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/* Aborts if a sum is wrong: the time of a wrong result is meaningless. */
static void verify(const struct library *library, float *values, size_t count) {
    float expected = library->size * (library->size + 1) / 2;
    for (size_t i = 0; i < count; i++) {
        values[i] = library->rank + 1;
    }
    library->allreduce(values, count);
    for (size_t i = 0; i < count; i++) {
        if (values[i] != expected) {
            fprintf(stderr, "element %zu is %g, not %g\n", i, values[i], expected);
            exit(1);
        }
    }
}

/* Allocates one tensor of zeros, after an allreduce of it has been verified. */
static float *verified_zeros(const struct library *library, size_t bytes) {
    float *values = (float *)aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (values == NULL) {
        fail("memory for the tensor");
    }
    verify(library, values, bytes / sizeof(float));
    memset(values, 0, bytes); /* zeros stay zeros, other sums would run to infinity */
    return values;
}

/* Sorts the samples in place. */
static void print_line(const struct library *library, const char *name, FILE *output, size_t bytes,
        double *samples, int length) {
    qsort(samples, length, sizeof(double), ascending);
    fprintf(output, "%s,%d,%zu,%.3f,%.3f,%.3f\n", name, library->size, bytes,
            quantile(samples, length, 0.5), quantile(samples, length, 0.1),
            quantile(samples, length, 0.9));
    fflush(output);
}

/* Measures one size and prints its result. */
typedef void measurement(
        const struct library *library, const char *name, FILE *output, double seconds, size_t bytes);

static void time_batches(
        const struct library *library, const char *name, FILE *output, double seconds, size_t bytes) {
    size_t count = bytes / sizeof(float);
    float *values = verified_zeros(library, bytes);

    double each = warm_up(library, values, count);
    long iterations = (long)(seconds / BATCHES_MAX / each);
    iterations = iterations < 1 ? 1 : iterations;
    int batches = (int)(seconds / (iterations * each));
    batches = batches < BATCHES_MIN ? BATCHES_MIN : batches > BATCHES_MAX ? BATCHES_MAX : batches;

    double samples[BATCHES_MAX];
    for (int i = 0; i < batches; i++) {
        samples[i] = batch(library, values, count, iterations) * 1e6;
    }
    print_line(library, name, output, bytes, samples, batches);
    free(values);
}

/* Ranks other than 0 write their results to /dev/null. */
static void measure(const struct library *library, char **arguments, measurement *measurement) {
    FILE *output = fopen(library->rank == 0 ? arguments[1] : "/dev/null", "a");
    if (output == NULL) {
        fail(arguments[1]);
    }
    double seconds = atof(arguments[2]);
    for (char *size = strtok(arguments[3], ","); size != NULL; size = strtok(NULL, ",")) {
        measurement(library, arguments[0], output, seconds, strtoull(size, NULL, 10));
    }
    fclose(output);
}

#endif
