package org.horovod4j.runtime.timeline;

import org.horovod4j.runtime.timeline.TraceRow.Phase;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/// Assigns events to the rows of their tensors and process sets.
///
/// A tensor's row shows what happened to the tensor. The row of a process set shows what its
/// backend did: each batch once, with its activities. Events may be missing (recording began in the
/// middle, or the queue was full): then less is shown, but nothing wrong.
final class TraceRows {
    /// Bounds the rows if a program uses new names in each step.
    static final int MAX_TENSORS = 10_000;

    /// More than the batches of a few plans. Removed ones are created again.
    private static final int MAX_CACHED_BATCHES = 1_000;

    private static final String NEGOTIATE = "NEGOTIATE";
    private static final int FIRST_TENSOR_ORDER = 1000;

    private final TraceEventWriter traceEventWriter;
    private final Map<Integer, ProcessSetRows> sets = new HashMap<>();
    private final IdentityHashMap<Collective, BatchRows> cachedBatchRows = new IdentityHashMap<>();
    private final Map<String, String> waits = new HashMap<>();

    private int lastRow = TraceEventWriter.OWN_ROW;
    private int tensors;
    private boolean rowsRefused;

    TraceRows(TraceEventWriter traceEventWriter) {
        this.traceEventWriter = traceEventWriter;
    }

    /// A process set. The same name in another set is another tensor.
    private record ProcessSetRows(TraceRow traceRow, Map<String, TraceRow> tensors) {}

    /// The rows of a batch, and their arguments at its end; null for tensors without a row. A
    /// locked plan runs the same batches in each step.
    private static final class BatchRows {
        private final TraceRow set;
        private final byte[] summary;
        private final @Nullable TraceRow[] rows;
        private final byte[][] arguments;

        BatchRows(TraceRow set, byte[] summary, int tensors) {
            this.set = set;
            this.summary = summary;
            this.rows = new TraceRow[tensors];
            this.arguments = new byte[tensors][];
        }
    }

    void show(TimelineEvent timelineEvent) throws IOException {
        switch (timelineEvent) {
            case TimelineEvent.Submitted(int processSet, String tensor, String op, long nanos) ->
                    await(processSet, tensor, wait(op), false, nanos);
            case TimelineEvent.RankReady(int processSet, String tensor, int rank, long nanos) ->
                    rankReady(processSet, tensor, rank, nanos);
            case TimelineEvent.NegotiationEnded(int processSet, String tensor, long nanos) ->
                    negotiationEnded(processSet, tensor, nanos);
            case TimelineEvent.NegotiationFailed(
                            int processSet,
                            String tensor,
                            String reason,
                            long nanos) ->
                    negotiationFailed(processSet, tensor, reason, nanos);
            case TimelineEvent.Started(Collective collective, long nanos) ->
                    started(collective, nanos);
            case TimelineEvent.Activity activity -> activity(activity);
            case TimelineEvent.Ended(Collective collective, long nanos) -> ended(collective, nanos);
            case TimelineEvent.Cycle(long nanos) -> traceEventWriter.mark("CYCLE_START", nanos);
        }
    }

    /// Writes the begins of all open slices that are older than `nanos`.
    void writeBeginsOlderThan(long nanos) throws IOException {
        forEachRow(traceRow -> traceRow.writeBeginIfOlderThan(nanos));
    }

    /// Drops all open slices, because events were lost.
    void discardOpen(long nanos) throws IOException {
        forEachRow(traceRow -> traceRow.discardOpen(nanos));
    }

    /// Ends all open slices, because the file ends.
    void closeUnfinished(long nanos) throws IOException {
        forEachRow(traceRow -> traceRow.closeUnfinished(nanos));
    }

    private interface RowAction {
        void on(TraceRow traceRow) throws IOException;
    }

    private void forEachRow(RowAction rowAction) throws IOException {
        for (ProcessSetRows set : sets.values()) {
            rowAction.on(set.traceRow);
            for (TraceRow traceRow : set.tensors.values()) {
                rowAction.on(traceRow);
            }
        }
    }

    private String wait(String op) {
        return waits.computeIfAbsent(op, name -> NEGOTIATE + "_" + name);
    }

    private void await(int processSet, String tensor, String wait, boolean vague, long nanos)
            throws IOException {
        TraceRow traceRow = tensor(processSet, tensor, nanos);
        if (traceRow != null) {
            traceRow.await(wait, vague, nanos);
        }
    }

    private void rankReady(int processSet, String tensor, int rank, long nanos) throws IOException {
        // The wait starts with the first rank, so its length shows how late the last one is.
        await(processSet, tensor, NEGOTIATE, true, nanos);
        TraceRow traceRow = known(processSet, tensor);
        if (traceRow != null) {
            traceRow.tick(Integer.toString(rank), nanos);
        }
    }

    private void negotiationEnded(int processSet, String tensor, long nanos) throws IOException {
        TraceRow traceRow = known(processSet, tensor);
        if (traceRow != null && traceRow.phase() == Phase.WAITING) {
            traceRow.close(nanos);
            traceRow.open(Phase.QUEUED, "QUEUE", nanos);
        }
    }

    private void negotiationFailed(int processSet, String tensor, String reason, long nanos)
            throws IOException {
        TraceRow traceRow = known(processSet, tensor);
        if (traceRow != null && traceRow.phase() != Phase.IDLE) {
            traceRow.close(nanos, new JsonBuilder().put("error", reason).bytes());
            traceRow.startNextWait();
        }
    }

    private void started(Collective collective, long nanos) throws IOException {
        BatchRows batchRows = batchRows(collective, nanos);
        run(batchRows.set, collective, nanos);
        for (TraceRow traceRow : batchRows.rows) {
            if (traceRow != null) {
                run(traceRow, collective, nanos);
            }
        }
    }

    private static void run(TraceRow traceRow, Collective collective, long nanos)
            throws IOException {
        if (traceRow.phase() == Phase.WAITING && collective.locked()) {
            traceRow.rename("WAIT_FOR_OTHER_TENSOR_DATA");
        }
        if (traceRow.phase() != Phase.IDLE) {
            traceRow.close(nanos);
        }
        traceRow.open(Phase.RUNNING, collective.op(), nanos);
    }

    private void activity(TimelineEvent.Activity activity) {
        ProcessSetRows set = sets.get(activity.collective().processSet());
        if (set != null && set.traceRow.phase() == Phase.RUNNING) {
            set.traceRow.add(activity);
        }
    }

    private void ended(Collective collective, long nanos) throws IOException {
        BatchRows batchRows = batchRows(collective, nanos);
        if (batchRows.set.phase() == Phase.RUNNING) {
            batchRows.set.close(nanos, batchRows.summary);
        }
        for (int i = 0; i < batchRows.rows.length; i++) {
            TraceRow traceRow = batchRows.rows[i];
            if (traceRow != null && traceRow.phase() == Phase.RUNNING) {
                traceRow.close(nanos, batchRows.arguments[i]);
                traceRow.startNextWait();
            }
        }
    }

    private BatchRows batchRows(Collective collective, long nanos) throws IOException {
        BatchRows batchRows = cachedBatchRows.get(collective);
        if (batchRows == null) {
            if (cachedBatchRows.size() >= MAX_CACHED_BATCHES) {
                cachedBatchRows.clear();
            }
            batchRows = describe(collective, nanos);
            cachedBatchRows.put(collective, batchRows);
        }
        return batchRows;
    }

    private BatchRows describe(Collective collective, long nanos) throws IOException {
        List<String> names = collective.tensors();
        TraceRow set = set(collective.processSet()).traceRow;
        BatchRows batchRows = new BatchRows(set, summary(collective).bytes(), names.size());
        for (int i = 0; i < names.size(); i++) {
            batchRows.rows[i] = tensor(collective.processSet(), names.get(i), nanos);
            batchRows.arguments[i] = tensorArguments(collective, i);
        }
        return batchRows;
    }

    private static byte[] tensorArguments(Collective collective, int i) {
        JsonBuilder arguments = typed(collective);
        if (!collective.shapes().isEmpty()) {
            arguments.put("shape", collective.shapes().get(i).toString());
        }
        return arguments.isEmpty() ? TraceEventWriter.NO_ARGUMENTS : arguments.bytes();
    }

    private static JsonBuilder summary(Collective collective) {
        JsonBuilder arguments = typed(collective);
        arguments.put("tensors", collective.tensors().size());
        if (!collective.tensors().isEmpty()) {
            arguments.put("first", collective.tensors().getFirst());
        }
        return arguments.put("bytes", collective.byteSize()).put("locked", collective.locked());
    }

    private static JsonBuilder typed(Collective collective) {
        JsonBuilder arguments = new JsonBuilder();
        if (collective.dataType() != null) {
            arguments.put("dtype", collective.dataType().toString());
        }
        return arguments;
    }

    private @Nullable TraceRow known(int processSet, String tensor) {
        ProcessSetRows set = sets.get(processSet);
        return set == null ? null : set.tensors.get(tensor);
    }

    /// The row of a tensor, created when it is first seen; null beyond the limit.
    private @Nullable TraceRow tensor(int processSet, String name, long nanos) throws IOException {
        ProcessSetRows set = set(processSet);
        TraceRow traceRow = set.tensors.get(name);
        if (traceRow == null && tensors < MAX_TENSORS) {
            tensors++;
            String title = processSet == 0 ? name : name + " (process set " + processSet + ")";
            traceRow = newRow(title, FIRST_TENSOR_ORDER + lastRow);
            set.tensors.put(name, traceRow);
        } else if (traceRow == null && !rowsRefused) {
            rowsRefused = true;
            JsonBuilder arguments = new JsonBuilder().put("tensors", MAX_TENSORS);
            traceEventWriter.notice("NO_MORE_ROWS", nanos, arguments.put("first_without", name));
        }
        return traceRow;
    }

    private ProcessSetRows set(int id) throws IOException {
        ProcessSetRows set = sets.get(id);
        if (set == null) {
            set = new ProcessSetRows(newRow("process set " + id, id + 1), new HashMap<>());
            sets.put(id, set);
        }
        return set;
    }

    private TraceRow newRow(String name, int order) throws IOException {
        lastRow++;
        traceEventWriter.row(lastRow, name, order);
        return new TraceRow(traceEventWriter, lastRow);
    }
}
