package org.horovod4j.benchmarks;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;

import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.function.LongSupplier;

/// Runs steps until the JIT compilers are idle. Active compilers slow down ranks that use every
/// core, but not a rank that has a spare core, so they would distort the comparison of different
/// numbers of ranks. In a long training this effect is negligible.
public final class JitWarmUp {
    /// The maximum share of a rank's time in which its compilers may still be active.
    private static final double MAX_COMPILING_SHARE = 0.005;

    private final Communicator comm;
    private final LongSupplier compiledMillis;
    private final LongSupplier nanoTime;

    /// @param compiledMillis the total compilation time so far
    JitWarmUp(Communicator comm, LongSupplier compiledMillis, LongSupplier nanoTime) {
        this.comm = comm;
        this.compiledMillis = compiledMillis;
        this.nanoTime = nanoTime;
    }

    /// Uses the compilers of this JVM. If the JVM has none, or does not report them, they count as
    /// idle.
    public static JitWarmUp of(Communicator comm) {
        CompilationMXBean compilers = ManagementFactory.getCompilationMXBean();
        boolean tells = compilers != null && compilers.isCompilationTimeMonitoringSupported();
        return new JitWarmUp(
                comm, tells ? compilers::getTotalCompilationTime : () -> 0, System::nanoTime);
    }

    /// Steps of a rank.
    @FunctionalInterface
    public interface Steps {
        void run() throws IOException;
    }

    /// Runs steps, the same number on every rank, until the compilers are idle on all ranks.
    ///
    /// @param most the maximum number of runs
    /// @return the share of the last steps' time in which compilers were active, as the maximum
    ///     over all ranks
    public double run(Steps steps, int most) throws IOException {
        double share = 1;
        for (int i = 0; i < most && share > MAX_COMPILING_SHARE; i++) {
            long compiled = compiledMillis.getAsLong();
            long start = nanoTime.getAsLong();
            steps.run();
            double[] worst = {
                (compiledMillis.getAsLong() - compiled) * 1e6 / (nanoTime.getAsLong() - start)
            };
            comm.allreduce("compiling", worst, ReduceOp.MAX);
            share = worst[0];
        }
        return share;
    }
}
