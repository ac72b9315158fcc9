package org.horovod4j.runtime.cycle;

import org.horovod4j.runtime.controller.Coordinator;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.runtime.dispatch.Dispatcher;
import org.horovod4j.runtime.timeline.ActivityLog;
import org.horovod4j.runtime.timeline.Recorder;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.Links;
import org.jspecify.annotations.Nullable;

/// What a [CycleAgent] is made of.
///
/// @param processSet the number of the process set
/// @param rank this rank in it
/// @param size how many ranks it has
/// @param coordinator on rank 0, else null
/// @param control carries control messages
/// @param backend runs the operations
/// @param dispatcher hands them to it
/// @param state how far the process set has come
/// @param crowded whether the host has more ranks than cores
/// @param tuning to begin with
/// @param recorder is told of everything
/// @param activities is told by the backend what an operation spends its time on
/// @param clock tells the time
public record ProcessSetContext(
        int processSet,
        int rank,
        int size,
        @Nullable Coordinator coordinator,
        Links control,
        Backend backend,
        Dispatcher dispatcher,
        ProcessSetState state,
        boolean crowded,
        Tuning tuning,
        Recorder recorder,
        ActivityLog activities,
        Clock clock) {}
