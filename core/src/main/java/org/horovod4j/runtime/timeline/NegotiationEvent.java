package org.horovod4j.runtime.timeline;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/// The wait of one tensor, from the moment this rank asked for its operation.
@Name("org.horovod4j.Negotiation")
@Label("Negotiation")
@Category("Horovod4J")
@Description("From a request until all ranks agreed on it or, in a locked plan, until it ran")
@StackTrace(false)
final class NegotiationEvent extends Event {
    @Label("Rank")
    int rank;

    @Label("Tensor")
    String tensor = "";

    @Label("Operation")
    String op = "";

    @Label("Error")
    @Description("Why it failed; empty when it did not")
    String error = "";
}
