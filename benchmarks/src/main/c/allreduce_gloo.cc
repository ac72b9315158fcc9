// Times Gloo's ring allreduce over TCP, which torch.distributed and Horovod use. Start one process
// for each RANK of SIZE. They connect through files in the empty folder STORE.
//
// Usage: allreduce_gloo RANK SIZE STORE NAME ROUND OUTPUT SECONDS SIZES (see measure.h)
#include "measure.h"
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

// State of the functions below. It is global because measure.h takes plain functions.
static std::shared_ptr<gloo::rendezvous::Context> context;

static void add(void *sum, const void *left, const void *right, size_t count) {
    gloo::sum<float>(sum, left, right, count);
}

static void largest(void *result, const void *left, const void *right, size_t count) {
    gloo::max<double>(result, left, right, count);
}

template <typename T>
static void reduce(T *values, size_t count, gloo::AllreduceOptions::Func function) {
    gloo::AllreduceOptions options(context);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(values, count);
    options.setReduceFunction(function);
    gloo::allreduce(options);
}

static void allreduce(float *values, size_t count) {
    reduce(values, count, add);
}

static void barrier() {
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
}

static double slowest(double seconds) {
    reduce(&seconds, 1, largest);
    return seconds;
}

int main(int argc, char **argv) {
    if (argc != 9) {
        fprintf(stderr, "usage: allreduce_gloo RANK SIZE STORE NAME ROUND OUTPUT SECONDS SIZES\n");
        return 2;
    }
    int rank = atoi(argv[1]);
    int size = atoi(argv[2]);
    gloo::rendezvous::FileStore store(argv[3]);
    auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
    context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context->connectFullMesh(store, device);

    struct library library = {rank, size, allreduce, barrier, slowest};
    measure(&library, argv + 4, time_batches);
    barrier(); // a rank that exits early would break connections of ranks that still measure
    context.reset();
    return 0;
}
