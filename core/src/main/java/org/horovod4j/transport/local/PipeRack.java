package org.horovod4j.transport.local;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/// The pipes of one channel, each until both its ends have gone on: one end may have written all,
/// and closed, before the other asks for the pipe.
final class PipeRack {
    private final Map<Direction, Pipe> pipes = new HashMap<>();
    private final Map<Integer, Integer> epochs = new HashMap<>();

    private record Direction(int source, int target, int epoch) {}

    /// The pipe between two ranks in an epoch that one of them is in; closed when the other has
    /// left it without having asked.
    synchronized Pipe pipe(int source, int target, int epoch) {
        Direction direction = new Direction(source, target, epoch);
        Pipe pipe = pipes.get(direction);
        if (pipe == null) {
            pipe = new Pipe();
            if (hasLeft(source, epoch) || hasLeft(target, epoch)) {
                pipe.close();
            } else {
                pipes.put(direction, pipe);
            }
        }
        return pipe;
    }

    /// Closes the pipes of `rank` in epochs before this one.
    synchronized void advance(int rank, int epoch) {
        epochs.put(rank, epoch);
        Iterator<Map.Entry<Direction, Pipe>> each = pipes.entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry<Direction, Pipe> entry = each.next();
            Direction direction = entry.getKey();
            boolean sourceLeft = hasLeft(direction.source, direction.epoch);
            boolean targetLeft = hasLeft(direction.target, direction.epoch);
            if (sourceLeft || targetLeft) {
                entry.getValue().close();
            }
            if (sourceLeft && targetLeft) {
                each.remove();
            }
        }
    }

    private boolean hasLeft(int rank, int epoch) {
        return epochs.getOrDefault(rank, 0) > epoch;
    }
}
