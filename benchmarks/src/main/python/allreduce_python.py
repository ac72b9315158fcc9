"""Times the allreduce of torch.distributed (Gloo), of Horovod or of DeepSpeed (shared memory). Follows the same steps as measure.h.

Usage: allreduce_python.py torch|horovod|deepspeed NAME ROUND OUTPUT SECONDS SIZES (see measure.h)

torch and deepspeed: start one process for each rank, with RANK, WORLD_SIZE and STORE (a file that does not exist
yet) in the environment; deepspeed: also LOCAL_SIZE, the number of ranks. Horovod: start it with Horovod's own launcher.
"""

import os
import sys
import time

import torch

WARM_UP_SECONDS = 0.2
BATCHES_MIN = 5
BATCHES_MAX = 25


class Torch:
    def __init__(self):
        import torch.distributed

        self.distributed = torch.distributed
        self.distributed.init_process_group(
            "gloo",
            init_method="file://" + os.environ["STORE"],
            rank=int(os.environ["RANK"]),
            world_size=int(os.environ["WORLD_SIZE"]),
        )
        self.rank = self.distributed.get_rank()
        self.size = self.distributed.get_world_size()

    def allreduce(self, values):
        self.distributed.all_reduce(values)

    def barrier(self):
        self.distributed.barrier()

    def slowest(self, seconds):
        result = torch.tensor([seconds], dtype=torch.float64)
        self.distributed.all_reduce(result, op=self.distributed.ReduceOp.MAX)
        return result.item()

    def shutdown(self):
        self.distributed.destroy_process_group()


class DeepSpeed(Torch):
    """Its op sums within one host. Everything else is done by torch.distributed."""

    def __init__(self):
        import importlib
        import zlib

        super().__init__()
        # The op names its shared memory by these two.
        os.environ.setdefault("MASTER_ADDR", "localhost")
        os.environ.setdefault("MASTER_PORT", str(zlib.crc32(os.environ["STORE"].encode()) % 50000))
        op = importlib.import_module("deepspeed.ops.comm.deepspeed_shm_comm_op")
        op.initialize(self.size, self.rank)

    def allreduce(self, values):
        torch.ops.deepspeed.inference_all_reduce_(values)


class Horovod:
    def __init__(self):
        import horovod.torch

        self.horovod = horovod.torch
        self.horovod.init()
        self.rank = self.horovod.rank()
        self.size = self.horovod.size()
        if self.size != int(os.environ["WORLD_SIZE"]):
            sys.exit("%d ranks instead of %s: is mpirun that of Horovod's MPI?" % (self.size, os.environ["WORLD_SIZE"]))

    def allreduce(self, values):
        self.horovod.allreduce_(values, name="values", op=self.horovod.Sum)

    def barrier(self):
        self.horovod.barrier()

    def slowest(self, seconds):
        times = torch.tensor([seconds], dtype=torch.float64)
        return self.horovod.allgather(times, name="slowest").max().item()

    def shutdown(self):
        self.horovod.shutdown()


def batch(library, step, iterations):
    """Seconds per step on the slowest rank."""
    library.barrier()
    start = time.perf_counter()
    for _ in range(iterations):
        step()
    return library.slowest(time.perf_counter() - start) / iterations


def warm_up(library, step):
    """Doubles the batch until warm. All ranks use the slowest rank's time, so they stop together."""
    spent = 0
    each = 0
    iterations = 1
    while spent < WARM_UP_SECONDS:
        each = batch(library, step, iterations)
        spent += each * iterations
        iterations *= 2
    return each


def known_values(count, tensor=0):
    """Other values for another tensor."""
    return (1 + (torch.arange(count) + 31 * tensor) % 251).to(torch.float32)


def verify(library, values):
    """Fails if a sum is wrong: the time of a wrong result is meaningless."""
    known = known_values(values.numel())
    values.copy_(known * (library.rank + 1))
    library.allreduce(values)
    if not torch.equal(values, known * (library.size * (library.size + 1) // 2)):
        sys.exit("wrong sums of %d elements on rank %d" % (values.numel(), library.rank))


def quantile(ordered, fraction):
    """Interpolates linearly between the two nearest samples."""
    at = fraction * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def append_result(output, library, name, byte_size, number, turn, samples):
    """Rank 0 appends the percentiles of the samples, in microseconds."""
    if library.rank == 0:
        ordered = sorted(samples)
        times = [quantile(ordered, fraction) for fraction in (0.5, 0.1, 0.9)]
        line = "%s,%d,%d,%s,%d,%.3f,%.3f,%.3f\n"
        with open(output, "a") as results:
            results.write(line % (name, library.size, byte_size, number, turn, *times))


def measure(library, seconds, byte_size):
    """The times of one allreduce, in microseconds."""
    values = torch.zeros(byte_size // 4)
    verify(library, values)
    values.zero_()  # zeros stay zeros, other sums would run to infinity

    def step():
        library.allreduce(values)

    each = warm_up(library, step)
    iterations = max(1, int(seconds / BATCHES_MAX / each))
    batches = min(max(int(seconds / (iterations * each)), BATCHES_MIN), BATCHES_MAX)
    samples = [batch(library, step, iterations) * 1e6 for _ in range(batches)]
    verify(library, values)
    return samples


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    kind, name, number, output, seconds, sizes = sys.argv[1:]
    library = {"torch": Torch, "horovod": Horovod, "deepspeed": DeepSpeed}[kind]()
    for byte_size in map(int, sizes.split(",")):
        samples = measure(library, float(seconds), byte_size)
        append_result(output, library, name, byte_size, number, 1, samples)
    library.barrier()
    library.shutdown()


if __name__ == "__main__":
    main()
