package org.horovod4j.log;

import org.jspecify.annotations.Nullable;

/// The source of loggers for all classes of Horovod4J.
///
/// ```java
/// private static final Logger LOGGER = Log.of(HostMemory.class);
/// ```
///
/// Loggers are static, and so is what they share: a process has one standard error. Until
/// [#configure] is called, [LogSettings#DEFAULT] applies.
public final class Log {
    private static final LogOutput OUTPUT = LogOutput.ofThisProcess();

    private Log() {}

    public static System.Logger of(Class<?> type) {
        return new RankLogger(type.getName(), OUTPUT);
    }

    /// For progress that the user asked for: if no level is set, lines of level `INFO` are printed
    /// too.
    public static System.Logger ofProgress(Class<?> type) {
        return new RankLogger(type.getName(), OUTPUT, LogLevel.INFO);
    }

    /// Sets the settings of the process, also for loggers that exist already.
    ///
    /// @param rank the rank of this process, shown in each line; null for none
    public static void configure(LogSettings settings, @Nullable Integer rank) {
        OUTPUT.configure(settings, rank);
    }

    /// Sets the rank of this thread and of those it starts later, for a process with several ranks.
    public static void setThreadRank(int rank) {
        OUTPUT.setThreadRank(rank);
    }
}
