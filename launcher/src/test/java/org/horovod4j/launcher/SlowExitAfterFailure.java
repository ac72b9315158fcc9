package org.horovod4j.launcher;

import org.horovod4j.Hvd;

import java.util.List;

/// Rank 1 fails, and its process exits after that of rank 0, which fails because of it.
final class SlowExitAfterFailure {
    private SlowExitAfterFailure() {}

    public static void main(String[] arguments) {
        Hvd.init();
        List<Long> processes = Hvd.allgatherObject("processes", ProcessHandle.current().pid());
        if (Hvd.rank() == 1) {
            ProcessHandle other = ProcessHandle.of(processes.getFirst()).orElseThrow();
            Runtime.getRuntime()
                    .addShutdownHook(new Thread(() -> other.onExit().join(), "slow-to-end"));
            System.exit(3);
        }
        Hvd.barrier();
    }
}
