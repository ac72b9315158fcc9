package org.horovod4j.benchmarks.training;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;

import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.function.LongSupplier;

/// Makes steps until the JVM's compilers rest. As long as they work, they take time from ranks that
/// compute on every core, and none from a rank that has a core to spare: figures would blame the ranks'
/// number for it. In training it passes, as a training is long.
public final class JitWarmUp {
    /// The share of a rank's time in which its compilers may still be at work.
    private static final double MAX_COMPILING_SHARE = 0.005;

    private final Communicator comm;
    private final LongSupplier compiledMillis;
    private final LongSupplier nanoTime;

    /// @param compiledMillis how long compilers were at work until now
    JitWarmUp(Communicator comm, LongSupplier compiledMillis, LongSupplier nanoTime) {
        this.comm = comm;
        this.compiledMillis = compiledMillis;
        this.nanoTime = nanoTime;
    }

    /// With the compilers of this JVM; where it has none, or does not tell, they rest.
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

    /// Makes steps, as often on every rank, until compilers rest on all of them.
    ///
    /// @param most how often at most
    /// @return the share of the last steps' time in which compilers were at work, on the rank where
    ///     that is greatest
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
