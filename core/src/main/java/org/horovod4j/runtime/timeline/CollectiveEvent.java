package org.horovod4j.runtime.timeline;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/// A [Collective], from its begin to its end.
@Name("org.horovod4j.Collective")
@Label("Collective")
@Category("Horovod4J")
@Description("One operation of the backend, with all tensors that travel in it")
@StackTrace(false)
final class CollectiveEvent extends Event {
    @Label("Rank")
    int rank;

    @Label("Operation")
    String op = "";

    @Label("Tensors")
    int tensors;

    @Label("First Tensor")
    String firstTensor = "";

    @Label("Size")
    @DataAmount
    long bytes;

    @Label("Process Set")
    int processSet;

    @Label("Locked Plan")
    boolean locked;
}
