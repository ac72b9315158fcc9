package org.horovod4j.runtime.timeline;

import org.horovod4j.runtime.timeline.Row.Phase;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/// Shows events on the rows of their tensors and process sets.
///
/// A tensor's row tells what became of the tensor; that of a process set tells what its backend
/// did, each bundle of tensors once, with the activities inside. Events may be missing at any place
/// (recording began in the middle, or the queue was full): then less is shown, but nothing that was
/// not so.
final class Rows {
    /// A program that invents new names in each step would make rows without end.
    static final int MOST_TENSORS = 10_000;

    /// More than the batches of a few plans; what is forgotten is found again.
    private static final int MOST_BUNDLES = 1_000;

    private static final String NEGOTIATE = "NEGOTIATE";
    private static final int FIRST_TENSOR_ORDER = 1000;

    private final Trace trace;
    private final Map<Integer, OfSet> sets = new HashMap<>();
    private final IdentityHashMap<Collective, Bundle> bundles = new IdentityHashMap<>();
    private final Map<String, String> waits = new HashMap<>();

    private int lastRow = Trace.OWN_ROW;
    private int tensors;
    private boolean rowsRefused;

    Rows(Trace trace) {
        this.trace = trace;
    }

    /// A process set: a name in another one is another tensor.
    private record OfSet(Row row, Map<String, Row> tensors) {}

    /// The rows of a bundle, and what is said there when it ends; null for tensors without a row. A
    /// locked plan runs the same bundles again and again.
    private static final class Bundle {
        private final Row set;
        private final byte[] summary;
        private final @Nullable Row[] rows;
        private final byte[][] arguments;

        Bundle(Row set, byte[] summary, int tensors) {
            this.set = set;
            this.summary = summary;
            this.rows = new Row[tensors];
            this.arguments = new byte[tensors][];
        }
    }

    void show(Event event) throws IOException {
        switch (event) {
            case Event.Submitted(int processSet, String tensor, String op, long nanos) ->
                    await(processSet, tensor, wait(op), false, nanos);
            case Event.Reported(int processSet, String tensor, int rank, long nanos) ->
                    reported(processSet, tensor, rank, nanos);
            case Event.Agreed(int processSet, String tensor, long nanos) ->
                    agreed(processSet, tensor, nanos);
            case Event.Failed(int processSet, String tensor, String reason, long nanos) ->
                    failed(processSet, tensor, reason, nanos);
            case Event.Began(Collective collective, long nanos) -> began(collective, nanos);
            case Event.Activity activity -> activity(activity);
            case Event.Ended(Collective collective, long nanos) -> ended(collective, nanos);
            case Event.Cycle(long nanos) -> trace.mark("CYCLE_START", nanos);
        }
    }

    /// Writes the begins of all that began before `nanos` and is still open.
    void showOlderThan(long nanos) throws IOException {
        each(row -> row.showIfOlderThan(nanos));
    }

    /// Leaves out all that is open, since events were lost.
    void forget(long nanos) throws IOException {
        each(row -> row.forget(nanos));
    }

    /// Ends all that is open because the file ends.
    void cut(long nanos) throws IOException {
        each(row -> row.cut(nanos));
    }

    private interface Act {
        void on(Row row) throws IOException;
    }

    private void each(Act act) throws IOException {
        for (OfSet set : sets.values()) {
            act.on(set.row);
            for (Row row : set.tensors.values()) {
                act.on(row);
            }
        }
    }

    private String wait(String op) {
        return waits.computeIfAbsent(op, name -> NEGOTIATE + "_" + name);
    }

    private void await(int processSet, String tensor, String wait, boolean vague, long nanos)
            throws IOException {
        Row row = tensor(processSet, tensor, nanos);
        if (row != null) {
            row.await(wait, vague, nanos);
        }
    }

    private void reported(int processSet, String tensor, int rank, long nanos) throws IOException {
        // The wait starts with the first rank, so that its length tells how late the last one is.
        await(processSet, tensor, NEGOTIATE, true, nanos);
        Row row = known(processSet, tensor);
        if (row != null) {
            trace.tick(row.number(), Integer.toString(rank), nanos);
        }
    }

    private void agreed(int processSet, String tensor, long nanos) throws IOException {
        Row row = known(processSet, tensor);
        if (row != null && row.phase() == Phase.WAITING) {
            row.close(nanos);
            row.open(Phase.QUEUED, "QUEUE", nanos);
        }
    }

    private void failed(int processSet, String tensor, String reason, long nanos)
            throws IOException {
        Row row = known(processSet, tensor);
        if (row != null && row.phase() != Phase.IDLE) {
            row.close(nanos, new JsonText().put("error", reason).bytes());
            row.goOn();
        }
    }

    private void began(Collective collective, long nanos) throws IOException {
        Bundle bundle = bundle(collective, nanos);
        run(bundle.set, collective, nanos);
        for (Row row : bundle.rows) {
            if (row != null) {
                run(row, collective, nanos);
            }
        }
    }

    private static void run(Row row, Collective collective, long nanos) throws IOException {
        if (row.phase() == Phase.WAITING && collective.locked()) {
            row.rename("WAIT_FOR_OTHER_TENSOR_DATA");
        }
        if (row.phase() != Phase.IDLE) {
            row.close(nanos);
        }
        row.open(Phase.RUNNING, collective.op(), nanos);
    }

    private void activity(Event.Activity activity) {
        OfSet set = sets.get(activity.collective().processSet());
        if (set != null && set.row.phase() == Phase.RUNNING) {
            set.row.add(activity);
        }
    }

    private void ended(Collective collective, long nanos) throws IOException {
        Bundle bundle = bundle(collective, nanos);
        if (bundle.set.phase() == Phase.RUNNING) {
            bundle.set.close(nanos, bundle.summary);
        }
        for (int i = 0; i < bundle.rows.length; i++) {
            Row row = bundle.rows[i];
            if (row != null && row.phase() == Phase.RUNNING) {
                row.close(nanos, bundle.arguments[i]);
                row.goOn();
            }
        }
    }

    private Bundle bundle(Collective collective, long nanos) throws IOException {
        Bundle bundle = bundles.get(collective);
        if (bundle == null) {
            if (bundles.size() >= MOST_BUNDLES) {
                bundles.clear();
            }
            bundle = describe(collective, nanos);
            bundles.put(collective, bundle);
        }
        return bundle;
    }

    private Bundle describe(Collective collective, long nanos) throws IOException {
        List<String> names = collective.tensors();
        Row set = set(collective.processSet()).row;
        Bundle bundle = new Bundle(set, summary(collective).bytes(), names.size());
        for (int i = 0; i < names.size(); i++) {
            bundle.rows[i] = tensor(collective.processSet(), names.get(i), nanos);
            bundle.arguments[i] = tensorArguments(collective, i);
        }
        return bundle;
    }

    private static byte[] tensorArguments(Collective collective, int i) {
        JsonText arguments = typed(collective);
        if (!collective.shapes().isEmpty()) {
            arguments.put("shape", collective.shapes().get(i).toString());
        }
        return arguments.isEmpty() ? Trace.NO_ARGUMENTS : arguments.bytes();
    }

    private static JsonText summary(Collective collective) {
        JsonText arguments = typed(collective);
        arguments.put("tensors", collective.tensors().size());
        if (!collective.tensors().isEmpty()) {
            arguments.put("first", collective.tensors().getFirst());
        }
        return arguments.put("bytes", collective.byteSize()).put("locked", collective.locked());
    }

    private static JsonText typed(Collective collective) {
        JsonText arguments = new JsonText();
        if (collective.dataType() != null) {
            arguments.put("dtype", collective.dataType().toString());
        }
        return arguments;
    }

    private @Nullable Row known(int processSet, String tensor) {
        OfSet set = sets.get(processSet);
        return set == null ? null : set.tensors.get(tensor);
    }

    /// The row of a tensor, made when it is first seen; null when there are too many.
    private @Nullable Row tensor(int processSet, String name, long nanos) throws IOException {
        OfSet set = set(processSet);
        Row row = set.tensors.get(name);
        if (row == null && tensors < MOST_TENSORS) {
            tensors++;
            String title = processSet == 0 ? name : name + " (process set " + processSet + ")";
            row = newRow(title, FIRST_TENSOR_ORDER + lastRow);
            set.tensors.put(name, row);
        } else if (row == null && !rowsRefused) {
            rowsRefused = true;
            JsonText arguments = new JsonText().put("tensors", MOST_TENSORS);
            trace.notice("NO_MORE_ROWS", nanos, arguments.put("first_without", name));
        }
        return row;
    }

    private OfSet set(int id) throws IOException {
        OfSet set = sets.get(id);
        if (set == null) {
            set = new OfSet(newRow("process set " + id, id + 1), new HashMap<>());
            sets.put(id, set);
        }
        return set;
    }

    private Row newRow(String name, int order) throws IOException {
        lastRow++;
        trace.row(lastRow, name, order);
        return new Row(trace, lastRow);
    }
}
