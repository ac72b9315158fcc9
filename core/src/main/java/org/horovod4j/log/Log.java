package org.horovod4j.log;

import org.jspecify.annotations.Nullable;

/// Where the classes of Horovod4J get their loggers.
///
/// ```java
/// private static final Logger LOG = Log.of(HostMemory.class);
/// ```
///
/// Loggers are static, as everywhere, and so is what they share: one process has one standard
/// error. Until [#configure] is called, [LogSettings#DEFAULT] holds.
public final class Log {
    private static final LogOutput OUTPUT = LogOutput.ofThisProcess();

    private Log() {}

    public static System.Logger of(Class<?> type) {
        return new RankLogger(type.getName(), OUTPUT);
    }

    /// For the progress of something that was asked for: where no level is set, its lines of level `INFO`
    /// are printed too.
    public static System.Logger ofProgress(Class<?> type) {
        return new RankLogger(type.getName(), OUTPUT, LogLevel.INFO);
    }

    /// Settings of the process, from now on and for loggers that exist already.
    ///
    /// @param rank whose process this is, which each line then says; null for that of no rank
    public static void configure(LogSettings settings, @Nullable Integer rank) {
        OUTPUT.configure(settings, rank);
    }

    /// Marks what this thread logs, and those it starts from now on, where one process has several
    /// ranks.
    public static void setThreadRank(int rank) {
        OUTPUT.setThreadRank(rank);
    }
}
