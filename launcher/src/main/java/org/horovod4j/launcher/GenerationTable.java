package org.horovod4j.launcher;

import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.plan.Slot;

import java.util.Locale;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.function.Function;

/// The ranks of a generation as a table, for `--verbose`.
final class GenerationTable {
    private GenerationTable() {}

    /// @param slots by rank
    /// @param pid the process of a worker, if it still runs
    static String of(
            int generation,
            SequencedMap<Worker, Slot> slots,
            Function<Worker, Optional<Long>> pid) {
        StringBuilder table =
                new StringBuilder("the places of generation %d:".formatted(generation));
        table.append(row("rank", "worker", "local", "cross", "process", "host"));
        slots.forEach(
                (worker, slot) ->
                        table.append(
                                row(
                                        slot.rank(),
                                        worker.number(),
                                        "%d of %d".formatted(slot.localRank(), slot.localSize()),
                                        "%d of %d".formatted(slot.crossRank(), slot.crossSize()),
                                        pid.apply(worker).map(Object::toString).orElse("?"),
                                        worker.host())));
        return table.toString();
    }

    private static String row(Object... cells) {
        return String.format(Locale.ROOT, "%n  %4s  %6s  %7s  %7s  %8s  %s", cells);
    }
}
