/*
 * Measures an allreduce. Follows the same steps as org.horovod4j.benchmarks.CollectiveTimer, so
 * that the results are comparable. Each library provides its own allreduce, barrier and maximum.
 *
 * Arguments of each program: NAME ROUND OUTPUT SECONDS SIZES. NAME is the name in the results, ROUND
 * the number of the round, OUTPUT the file to which rank 0 appends its results, SECONDS the measuring
 * time for each size, and SIZES a comma-separated list of byte sizes. If NAME contains `-metric`, a
 * metric is reduced too after every OPERATIONS_PER_METRIC operations. The variable WARM_UP_SECONDS, if
 * set, is how long the processors are used before the first size.
 */
#ifndef HOROVOD4J_MEASURE_H
#define HOROVOD4J_MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Compiled code only has to warm up caches, buffers and connections. */
#define SIZE_WARM_UP_SECONDS 0.2
#define BATCHES_MIN 5
#define BATCHES_MAX 25

/* The same as in AllreduceBenchmark.java. */
#define OPERATIONS_PER_METRIC 100

struct library {
    int rank;
    int size;
    void (*allreduce)(float *values, size_t count); /* sum, in place */
    void (*barrier)(void);
    double (*slowest)(double seconds); /* the maximum over all ranks, on all ranks */
};

/* The arguments of a program, and what follows from them. */
struct job {
    const char *name;
    int round;
    FILE *output;
    double seconds;
    int with_metric;
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

/* One allreduce. With a metric, a group of them and the metric. */
static void call(const struct library *library, int with_metric, float *values, size_t count) {
    if (!with_metric) {
        library->allreduce(values, count);
        return;
    }
    for (int i = 0; i < OPERATIONS_PER_METRIC; i++) {
        library->allreduce(values, count);
    }
    float metric = 0;
    library->allreduce(&metric, 1);
}

/* Seconds per call on the slowest rank, measured over `iterations` consecutive calls. */
static double batch(const struct library *library, int with_metric, float *values, size_t count,
        long iterations) {
    library->barrier();
    double start = now();
    for (long i = 0; i < iterations; i++) {
        call(library, with_metric, values, count);
    }
    return library->slowest(now() - start) / iterations;
}

/* Doubles the batch until warm. All ranks use the slowest rank's time, so they stop together. */
static double warm_up(
        const struct library *library, int with_metric, float *values, size_t count) {
    double spent = 0;
    double each = 0;
    for (long iterations = 1; spent < SIZE_WARM_UP_SECONDS; iterations *= 2) {
        each = batch(library, with_metric, values, count, iterations);
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

/* Adjacent elements differ, and sums of such small integers are exact. */
static float known_value(size_t element) {
    return 1 + element % 251;
}

/* Aborts if a sum is wrong: the time of a wrong result is meaningless. */
static void verify(const struct library *library, float *values, size_t count) {
    float sum_of_ranks = library->size * (library->size + 1) / 2;
    for (size_t i = 0; i < count; i++) {
        values[i] = (library->rank + 1) * known_value(i);
    }
    library->allreduce(values, count);
    for (size_t i = 0; i < count; i++) {
        float expected = sum_of_ranks * known_value(i);
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

/* Uses the processors for this time. Our own program is measured after the JVM has compiled it, and on a
 * virtual machine a longer job meets slow seconds more often. */
static void occupy(const struct library *library, double seconds) {
    size_t count = 256;
    float *values = verified_zeros(library, count * sizeof(float));
    double spent = 0;
    for (long iterations = 1; spent < seconds; iterations *= iterations < 4096 ? 2 : 1) {
        spent += batch(library, 0, values, count, iterations) * iterations;
    }
    free(values);
}

/* Sorts the samples in place. */
static void print_line(const struct library *library, const struct job *job, size_t bytes, int turn,
        double *samples, int length) {
    qsort(samples, length, sizeof(double), ascending);
    fprintf(job->output, "%s,%d,%zu,%d,%d,%.3f,%.3f,%.3f\n", job->name, library->size, bytes,
            job->round, turn, quantile(samples, length, 0.5), quantile(samples, length, 0.1),
            quantile(samples, length, 0.9));
    fflush(job->output);
}

/* Measures one size and prints its result. */
typedef void measurement(const struct library *library, const struct job *job, size_t bytes);

/* Times batches of calls. Writes microseconds per operation to `samples`, which has room for
 * BATCHES_MAX, and returns the number of batches. */
static int time_calls(const struct library *library, const struct job *job, float *values, size_t count,
        double *samples) {
    double each = warm_up(library, job->with_metric, values, count);
    long iterations = (long)(job->seconds / BATCHES_MAX / each);
    iterations = iterations < 1 ? 1 : iterations;
    int batches = (int)(job->seconds / (iterations * each));
    batches = batches < BATCHES_MIN ? BATCHES_MIN : batches > BATCHES_MAX ? BATCHES_MAX : batches;
    for (int i = 0; i < batches; i++) {
        samples[i] = batch(library, job->with_metric, values, count, iterations) * 1e6
                / (job->with_metric ? OPERATIONS_PER_METRIC : 1);
    }
    return batches;
}

static void time_batches(const struct library *library, const struct job *job, size_t bytes) {
    size_t count = bytes / sizeof(float);
    float *values = verified_zeros(library, bytes);
    double samples[BATCHES_MAX];
    int batches = time_calls(library, job, values, count, samples);
    verify(library, values, count);
    print_line(library, job, bytes, 1, samples, batches);
    free(values);
}

/* Ranks other than 0 write their results to /dev/null. */
static void measure(const struct library *library, char **arguments, measurement *measurement) {
    struct job job;
    job.name = arguments[0];
    job.round = atoi(arguments[1]);
    job.output = fopen(library->rank == 0 ? arguments[2] : "/dev/null", "a");
    if (job.output == NULL) {
        fail(arguments[2]);
    }
    job.seconds = atof(arguments[3]);
    job.with_metric = strstr(job.name, "-metric") != NULL;
    const char *warm_up_seconds = getenv("WARM_UP_SECONDS");
    if (warm_up_seconds != NULL) {
        occupy(library, atof(warm_up_seconds));
    }
    for (char *size = strtok(arguments[4], ","); size != NULL; size = strtok(NULL, ",")) {
        measurement(library, &job, strtoull(size, NULL, 10));
    }
    fclose(job.output);
}

#endif
