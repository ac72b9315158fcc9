package org.horovod4j.runtime;

import org.horovod4j.log.Log;
import org.horovod4j.natives.ProcessorSet;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.spi.RankAndSize;
import org.horovod4j.text.MessageText;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.ThreadFactory;

/// Binds a thread to the processor that `HOROVOD_THREAD_AFFINITY` names for its rank.
///
/// A thread that cannot be bound runs unbound, with a warning: results do not depend on it.
final class ThreadAffinity {
    private static final Logger LOG = Log.of(ThreadAffinity.class);

    private ThreadAffinity() {}

    /// A task that first binds its thread.
    ///
    /// @param processors one for each rank of a host
    /// @param local this rank on its host
    static Runnable bindThenRun(List<Integer> processors, RankAndSize local, Runnable task) {
        if (local.rank() >= processors.size()) {
            LOG.log(
                    Level.WARNING,
                    "{0} names {1}, but this host has {2} ranks. The thread of this rank is not bound.",
                    RuntimeOptions.THREAD_AFFINITY,
                    MessageText.count(processors.size(), "processor"),
                    local.size());
            return task;
        }
        int processor = processors.get(local.rank());
        return () -> {
            String problem = ProcessorSet.of(processor).bindCurrentThread();
            if (problem.isEmpty()) {
                LOG.log(Level.DEBUG, "Bound to processor {0}", processor);
            } else {
                LOG.log(
                        Level.WARNING,
                        "{0}: thread {1} is not bound to processor {2}, because {3}.",
                        RuntimeOptions.THREAD_AFFINITY,
                        Thread.currentThread().getName(),
                        processor,
                        problem);
            }
            task.run();
        };
    }

    /// Lets threads run on the processors that the calling thread has now, also if a bound thread
    /// creates them later.
    static ThreadFactory unbound(ThreadFactory factory) {
        return ProcessorSet.ofCurrentThread()
                .<ThreadFactory>map(
                        processors ->
                                task ->
                                        factory.newThread(
                                                () -> {
                                                    release(processors);
                                                    task.run();
                                                }))
                .orElse(factory); // no thread can be bound either
    }

    private static void release(ProcessorSet processors) {
        String problem = processors.bindCurrentThread();
        if (!problem.isEmpty()) {
            LOG.log(
                    Level.WARNING,
                    "Thread {0} may be bound to one processor, because {1}.",
                    Thread.currentThread().getName(),
                    problem);
        }
    }
}
