"""Times the allreduce of a training step's gradients with Horovod. Follows the same steps as steps_mpi.c.

Usage: steps_horovod.py NAME ROUND OUTPUT SECONDS TURNS SIZES, started by Horovod's own launcher. SIZES are the bytes
of the tensors in the order of the model; the others are explained in measure.h. Each turn is a line of the results.
"""

import sys
import time

import torch
from allreduce_python import Horovod, append, known_values, warm_up

STEPS_MIN = 5
STEPS_MAX = 200000
SETTLING_STEPS = 10


class Gradients(Horovod):
    """A step submits each tensor, last layer first as a backward pass does, and then waits for all."""

    def __init__(self, sizes):
        super().__init__()
        self.tensors = [torch.zeros(size // 4) for size in reversed(sizes)]
        self.names = ["gradient.%d" % i for i in range(len(sizes))]

    def step(self):
        if len(self.tensors) == 1:
            self.allreduce(self.tensors[0])
            return
        submit, total = self.horovod.allreduce_async_, self.horovod.Sum
        handles = [submit(tensor, name=name, op=total) for tensor, name in zip(self.tensors, self.names)]
        for handle in handles:
            self.horovod.synchronize(handle)

    def verify(self):
        """Makes a step on known values and checks all sums: the time of a wrong result is meaningless. Then sets zeros."""
        for tensor in self.tensors:
            tensor.copy_(known_values(tensor) * (self.rank + 1))
        self.step()
        factor = self.size * (self.size + 1) // 2
        for name, tensor in zip(self.names, self.tensors):
            if not torch.equal(tensor, known_values(tensor) * factor):
                sys.exit("wrong sums of %s on rank %d" % (name, self.rank))
            tensor.zero_()

    def run(self, steps):
        """Microseconds of each step on this rank. Each step starts when the previous one ends."""
        micros = []
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
            end = time.perf_counter()
            micros.append((end - start) * 1e6)
            start = end
        return micros


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    name, number, output, seconds, turns, sizes = sys.argv[1:]
    sizes = [int(size) for size in sizes.split(",")]
    gradients = Gradients(sizes)
    for turn in range(1, int(turns) + 1):
        gradients.verify()
        fitting = int(float(seconds) / warm_up(gradients, gradients.step))
        gradients.run(SETTLING_STEPS)
        micros = gradients.run(min(max(fitting, STEPS_MIN), STEPS_MAX))
        gradients.verify()
        append(output, gradients, name, sum(sizes), number, turn, micros)
    gradients.barrier()
    gradients.shutdown()


main()
