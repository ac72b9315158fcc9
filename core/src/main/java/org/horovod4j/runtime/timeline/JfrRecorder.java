package org.horovod4j.runtime.timeline;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// Records events for Java Flight Recorder. Created by [Recorder#jfr], which checks that the module
/// is present.
///
/// Activities and requests of single ranks are recorded by the [Timeline] only: activities are
/// reported after they have ended, and the flight recorder accepts no times from outside.
final class JfrRecorder implements Recorder {
    private final int rank;

    /// Null until a recording runs: the first event of a type loads much of the flight recorder,
    /// which takes a tenth of a second.
    private @Nullable Probes probes;

    private final Map<TensorKey, NegotiationEvent> waiting = new ConcurrentHashMap<>();

    /// By process set: each runs one collective at a time.
    private final Map<Integer, CollectiveEvent> running = new ConcurrentHashMap<>();

    /// The locked plan of each process set.
    private final Map<Integer, PlanEvent> locked = new ConcurrentHashMap<>();

    private record TensorKey(int processSet, String tensor) {}

    JfrRecorder(int rank) {
        this.rank = rank;
    }

    @Override
    public boolean isOn() {
        return FlightRecorder.isInitialized() && probes().areEnabled();
    }

    /// Two threads may each create an instance, which does no harm.
    private Probes probes() {
        Probes known = probes;
        if (known == null) {
            known =
                    new Probes(
                            new CollectiveEvent(),
                            new NegotiationEvent(),
                            new CycleEvent(),
                            new PlanEvent(),
                            new WaitsEvent());
            probes = known;
        }
        return known;
    }

    /// An event of each type. Checking an existing event allocates nothing.
    private record Probes(
            CollectiveEvent collectives,
            NegotiationEvent negotiations,
            CycleEvent cycles,
            PlanEvent plans,
            WaitsEvent waits) {
        boolean areEnabled() {
            return collectives.isEnabled()
                    || negotiations.isEnabled()
                    || cycles.isEnabled()
                    || plans.isEnabled()
                    || waits.isEnabled();
        }
    }

    @Override
    public void submitted(int processSet, String tensor, String op) {
        NegotiationEvent event = new NegotiationEvent();
        if (event.isEnabled()) {
            event.begin();
            event.rank = rank;
            event.tensor = tensor;
            event.op = op;
            waiting.put(new TensorKey(processSet, tensor), event);
        }
    }

    @Override
    public void rankReady(int processSet, String tensor, int rank) {}

    @Override
    public void negotiationEnded(int processSet, String tensor) {
        commit(waiting.remove(new TensorKey(processSet, tensor)));
    }

    @Override
    public void negotiationFailed(int processSet, String tensor, String reason) {
        NegotiationEvent event = waiting.remove(new TensorKey(processSet, tensor));
        if (event != null) {
            event.error = reason;
            commit(event);
        }
    }

    @Override
    public void started(Collective collective) {
        if (!waiting.isEmpty()) {
            // Those of a locked plan, which need no negotiation.
            collective
                    .tensors()
                    .forEach(tensor -> negotiationEnded(collective.processSet(), tensor));
        }
        CollectiveEvent event = new CollectiveEvent();
        if (event.isEnabled()) {
            event.begin();
            running.put(collective.processSet(), event);
        }
    }

    @Override
    public void activity(Collective collective, String name, long beginNanos, long endNanos) {}

    @Override
    public void ended(Collective collective) {
        CollectiveEvent event = running.remove(collective.processSet());
        if (event != null) {
            event.end();
            describe(collective, event);
            event.commit();
        }
    }

    @Override
    public void cycle() {
        CycleEvent event = new CycleEvent();
        event.rank = rank;
        event.commit();
    }

    @Override
    public void planLocked(int processSet, long plan, int batches) {
        PlanEvent event = new PlanEvent();
        if (event.isEnabled()) {
            event.begin();
            event.rank = rank;
            event.processSet = processSet;
            event.plan = plan;
            event.batches = batches;
            locked.put(processSet, event);
        }
    }

    /// Without a duration if the recording began later than the plan.
    @Override
    public void planLeft(int processSet, String reason) {
        PlanEvent known = locked.remove(processSet);
        PlanEvent event = known == null ? new PlanEvent() : known;
        event.rank = rank;
        event.processSet = processSet;
        event.reason = reason;
        event.commit();
    }

    @Override
    public void waits(int processSet, long spinning, long yielding, long sleeping) {
        WaitsEvent event = new WaitsEvent();
        event.rank = rank;
        event.processSet = processSet;
        event.spinning = spinning;
        event.yielding = yielding;
        event.sleeping = sleeping;
        event.commit();
    }

    private void describe(Collective collective, CollectiveEvent event) {
        event.rank = rank;
        event.op = collective.op();
        event.tensors = collective.tensors().size();
        event.firstTensor = event.tensors == 0 ? "" : collective.tensors().getFirst();
        event.bytes = collective.byteSize();
        event.processSet = collective.processSet();
        event.locked = collective.locked();
    }

    private static void commit(@Nullable NegotiationEvent event) {
        if (event != null) {
            event.commit();
        }
    }

    /// A [Collective] and its duration.
    @Name("org.horovod4j.Collective")
    @Label("Collective")
    @Category("Horovod4J")
    @Description("One collective of the backend, with all tensors that are fused in it")
    @StackTrace(false)
    static final class CollectiveEvent extends Event {
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

    /// The wait of one tensor, from the submission on this rank.
    @Name("org.horovod4j.Negotiation")
    @Label("Negotiation")
    @Category("Horovod4J")
    @Description("From a request until all ranks agreed on it or, in a locked plan, until it ran")
    @StackTrace(false)
    static final class NegotiationEvent extends Event {
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

    /// The start of a cycle.
    @Name("org.horovod4j.Cycle")
    @Label("Cycle")
    @Category("Horovod4J")
    @Description("A cycle of the coordinator begins")
    @StackTrace(false)
    static final class CycleEvent extends Event {
        @Label("Rank")
        int rank;
    }

    /// A locked plan, from its begin until this rank left it.
    @Name("org.horovod4j.Plan")
    @Label("Locked Plan")
    @Category("Horovod4J")
    @Description("Steps that ran without negotiation, and why that ended")
    @StackTrace(false)
    static final class PlanEvent extends Event {
        @Label("Rank")
        int rank;

        @Label("Process Set")
        int processSet;

        @Label("Plan")
        long plan;

        @Label("Batches of a Step")
        int batches;

        @Label("Reason")
        @Description("Why this rank left the plan")
        String reason = "";
    }

    /// How waits for other ranks have ended since the rank started.
    @Name("org.horovod4j.Waits")
    @Label("Waits")
    @Category("Horovod4J")
    @Description("How waits for other ranks have ended since the rank started")
    @StackTrace(false)
    static final class WaitsEvent extends Event {
        @Label("Rank")
        int rank;

        @Label("Process Set")
        int processSet;

        @Label("Ended while Spinning")
        long spinning;

        @Label("Ended while Yielding")
        long yielding;

        @Label("Ended while Sleeping")
        long sleeping;
    }
}
