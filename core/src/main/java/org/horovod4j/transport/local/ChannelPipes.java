package org.horovod4j.transport.local;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/// The pipes of one channel, each until both its ends have gone on: one end may have written all,
/// and closed, before the other asks for the pipe.
final class ChannelPipes {
    private final Map<PipeKey, Pipe> pipes = new HashMap<>();
    private final Map<Integer, Integer> epochs = new HashMap<>();

    private record PipeKey(int source, int target, int epoch) {}

    /// The pipe between two ranks in an epoch that one of them is in; closed when the other has
    /// left it without having asked.
    synchronized Pipe pipe(int source, int target, int epoch) {
        PipeKey pipeKey = new PipeKey(source, target, epoch);
        Pipe pipe = pipes.get(pipeKey);
        if (pipe == null) {
            pipe = new Pipe();
            if (hasAdvancedPast(source, epoch) || hasAdvancedPast(target, epoch)) {
                pipe.close();
            } else {
                pipes.put(pipeKey, pipe);
            }
        }
        return pipe;
    }

    /// Closes the pipes of `rank` in epochs before this one.
    synchronized void advance(int rank, int epoch) {
        epochs.put(rank, epoch);
        Iterator<Map.Entry<PipeKey, Pipe>> each = pipes.entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry<PipeKey, Pipe> entry = each.next();
            PipeKey pipeKey = entry.getKey();
            boolean sourceLeft = hasAdvancedPast(pipeKey.source, pipeKey.epoch);
            boolean targetLeft = hasAdvancedPast(pipeKey.target, pipeKey.epoch);
            if (sourceLeft || targetLeft) {
                entry.getValue().close();
            }
            if (sourceLeft && targetLeft) {
                each.remove();
            }
        }
    }

    private boolean hasAdvancedPast(int rank, int epoch) {
        return epochs.getOrDefault(rank, 0) > epoch;
    }
}
