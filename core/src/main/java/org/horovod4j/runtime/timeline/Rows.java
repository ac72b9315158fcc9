package org.horovod4j.runtime.timeline;

import org.horovod4j.runtime.timeline.Row.Phase;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// Shows events on the rows of their tensors and process sets.
///
/// A tensor's row tells what became of the tensor; that of a process set tells what its backend did, each
/// bundle of tensors once, with the activities inside. Events may be missing at any place (recording began in
/// the middle, or the queue was full): then less is shown, but nothing that was not so.
final class Rows {
    /// A program that invents new names in each step would make rows without end.
    static final int MOST_TENSORS = 10_000;

    private static final String NEGOTIATE = "NEGOTIATE";
    private static final int FIRST_TENSOR_ORDER = 1000;

    private final Trace trace;
    private final Map<String, Row> tensors = new HashMap<>();
    private final Map<Integer, Row> processSets = new HashMap<>();

    private int lastRow = Trace.OWN_ROW;
    private boolean rowsRefused;

    Rows(Trace trace) {
        this.trace = trace;
    }

    void show(Event event) throws IOException {
        switch (event) {
            case Event.Submitted(String tensor, String op, long nanos) ->
                    await(tensor, NEGOTIATE + "_" + op, false, nanos);
            case Event.Reported(String tensor, int rank, long nanos) ->
                    reported(tensor, rank, nanos);
            case Event.Agreed(String tensor, long nanos) -> agreed(tensor, nanos);
            case Event.Failed(String tensor, String reason, long nanos) ->
                    failed(tensor, reason, nanos);
            case Event.Began(Collective collective, long nanos) -> began(collective, nanos);
            case Event.Activity activity -> activity(activity);
            case Event.Ended(Collective collective, long nanos) -> ended(collective, nanos);
            case Event.Cycle(long nanos) -> trace.mark("CYCLE_START", nanos);
        }
    }

    /// Writes the begins of all that began before `nanos` and is still open.
    void showOlderThan(long nanos) throws IOException {
        for (Map<?, Row> rows : List.of(processSets, tensors)) {
            for (Row row : rows.values()) {
                row.showIfOlderThan(nanos);
            }
        }
    }

    /// Leaves out all that is open, since events were lost.
    void forget(long nanos) throws IOException {
        for (Map<?, Row> rows : List.of(processSets, tensors)) {
            for (Row row : rows.values()) {
                row.forget(nanos);
            }
        }
    }

    /// Ends all that is open because the file ends.
    void cut(long nanos) throws IOException {
        for (Map<?, Row> rows : List.of(processSets, tensors)) {
            for (Row row : rows.values()) {
                row.cut(nanos);
            }
        }
    }

    private void await(String tensor, String wait, boolean vague, long nanos) throws IOException {
        Row row = tensor(tensor, nanos);
        if (row != null) {
            row.await(wait, vague, nanos);
        }
    }

    private void reported(String tensor, int rank, long nanos) throws IOException {
        // The wait starts with the first rank, so that its length tells how late the last one is.
        await(tensor, NEGOTIATE, true, nanos);
        Row row = tensors.get(tensor);
        if (row != null) {
            trace.tick(row.number(), Integer.toString(rank), nanos);
        }
    }

    private void agreed(String tensor, long nanos) throws IOException {
        Row row = tensors.get(tensor);
        if (row != null && row.phase() == Phase.WAITING) {
            row.close(nanos);
            row.open(Phase.QUEUED, "QUEUE", nanos);
        }
    }

    private void failed(String tensor, String reason, long nanos) throws IOException {
        Row row = tensors.get(tensor);
        if (row != null && row.phase() != Phase.IDLE) {
            row.close(nanos, new JsonText().put("error", reason));
            row.goOn();
        }
    }

    private void began(Collective collective, long nanos) throws IOException {
        run(processSet(collective.processSet()), collective, nanos);
        for (String tensor : collective.tensors()) {
            Row row = tensor(tensor, nanos);
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
        Row row = processSets.get(activity.collective().processSet());
        if (row != null && row.phase() == Phase.RUNNING) {
            row.add(activity);
        }
    }

    private void ended(Collective collective, long nanos) throws IOException {
        Row set = processSets.get(collective.processSet());
        if (set != null && set.phase() == Phase.RUNNING) {
            set.close(nanos, summary(collective));
        }
        List<String> names = collective.tensors();
        for (int i = 0; i < names.size(); i++) {
            Row row = tensors.get(names.get(i));
            if (row != null && row.phase() == Phase.RUNNING) {
                row.close(nanos, tensorArguments(collective, i));
                row.goOn();
            }
        }
    }

    private static JsonText tensorArguments(Collective collective, int i) {
        JsonText arguments = typed(collective);
        if (!collective.shapes().isEmpty()) {
            arguments.put("shape", collective.shapes().get(i).toString());
        }
        return arguments;
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

    /// The row of a tensor, made when it is first seen; null when there are too many.
    private @Nullable Row tensor(String name, long nanos) throws IOException {
        Row row = tensors.get(name);
        if (row == null && tensors.size() < MOST_TENSORS) {
            row = newRow(name, FIRST_TENSOR_ORDER + lastRow);
            tensors.put(name, row);
        } else if (row == null && !rowsRefused) {
            rowsRefused = true;
            JsonText arguments = new JsonText().put("tensors", MOST_TENSORS);
            trace.notice("NO_MORE_ROWS", nanos, arguments.put("first_without", name));
        }
        return row;
    }

    private Row processSet(int id) throws IOException {
        Row row = processSets.get(id);
        if (row == null) {
            row = newRow("process set " + id, id + 1);
            processSets.put(id, row);
        }
        return row;
    }

    private Row newRow(String name, int order) throws IOException {
        lastRow++;
        trace.row(lastRow, name, order);
        return new Row(trace, lastRow);
    }
}
