"""Times the allreduce of a training step's gradients with Horovod. Follows the same steps as steps_mpi.c.

Usage: steps_horovod.py NAME ROUND OUTPUT SECONDS TURNS SIZES (see measure.h), started by Horovod's own launcher. TURNS is
the number of turns; each appends a line. SIZES are the bytes of the tensors in forward order, separated by commas.
"""

import sys
import time

import torch
from allreduce_python import Horovod, append_result, known_values, warm_up

# The same as in StepTimer.java.
STEPS_MIN = 5
STEPS_MAX = 200000
SETTLING_STEPS = 10


class Gradients:
    def __init__(self, library, sizes):
        self.library = library
        self.tensors = [torch.zeros(size // 4) for size in reversed(sizes)]
        self.names = ["gradient.%d" % i for i in range(len(sizes))]

    def step(self):
        """Submits each tensor, last layer first as in a backward pass. Then waits for all."""
        horovod = self.library.horovod
        handles = [
            horovod.allreduce_async_(tensor, name=name, op=horovod.Sum)
            for tensor, name in zip(self.tensors, self.names)
        ]
        for handle in handles:
            horovod.synchronize(handle)

    def verify(self):
        """Makes a step on known values and checks all sums: the time of a wrong result is meaningless. Then sets zeros."""
        rank, size = self.library.rank, self.library.size
        for index, tensor in enumerate(self.tensors):
            tensor.copy_(known_values(tensor.numel(), index) * (rank + 1))
        self.step()
        for index, tensor in enumerate(self.tensors):
            if not torch.equal(tensor, known_values(tensor.numel(), index) * (size * (size + 1) // 2)):
                sys.exit("wrong sums of %s on rank %d" % (self.names[index], rank))
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
    library = Horovod()
    gradients = Gradients(library, sizes)
    for turn in range(1, int(turns) + 1):
        gradients.verify()
        steps = int(float(seconds) / warm_up(library, gradients.step))
        gradients.run(SETTLING_STEPS)
        micros = gradients.run(min(max(steps, STEPS_MIN), STEPS_MAX))
        gradients.verify()
        append_result(output, library, name, sum(sizes), number, turn, micros)
    library.barrier()
    library.shutdown()


main()
