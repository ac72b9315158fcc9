package org.horovod4j.runtime.cycle;

import org.horovod4j.runtime.controller.Coordinator;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.dispatch.DeviceDispatcher;
import org.horovod4j.runtime.dispatch.Dispatcher;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.CachedClock;
import org.horovod4j.transport.IdleStrategy;
import org.horovod4j.transport.Link;
import org.jspecify.annotations.Nullable;

import java.util.function.IntFunction;

/// One process set on one rank: what a [CycleAgent] needs.
///
/// @param processSet the number of the process set
/// @param rank this rank in the set
/// @param size the number of ranks in the set
/// @param coordinator on rank 0, else null
/// @param controlLinks opens the link for control messages to a rank of the set
/// @param backend runs the batches
/// @param dispatcher passes batches to the backend
/// @param deviceDispatcher records when tensors on a device are ready
/// @param state counts the completed batches, and detects lost ranks
/// @param idleStrategy for waits inside and between batches
/// @param tuning the initial tuning
/// @param recorder receives events for timeline and Java Flight Recorder
/// @param activities receives the backend's activities inside a batch
/// @param clock for waiting and for times in the recording
public record ProcessSetContext(
        int processSet,
        int rank,
        int size,
        @Nullable Coordinator coordinator,
        IntFunction<Link> controlLinks,
        CancellableBackend backend,
        Dispatcher dispatcher,
        DeviceDispatcher deviceDispatcher,
        ProcessSetState state,
        IdleStrategy idleStrategy,
        Tuning tuning,
        Recorder recorder,
        ActivityLog activities,
        CachedClock clock) {}
