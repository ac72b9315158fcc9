package org.horovod4j.runtime.timeline;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/// The begin of a cycle.
@Name("org.horovod4j.Cycle")
@Label("Cycle")
@Category("Horovod4J")
@Description("A cycle of the coordinator begins")
@StackTrace(false)
final class CycleEvent extends Event {
    @Label("Rank")
    int rank;
}
