package org.horovod4j.transport.local;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// The pipes between all ranks of one world in one JVM.
public final class LocalPipes {
    private final Map<Integer, ChannelPipes> channels = new ConcurrentHashMap<>();

    ChannelPipes channel(int id) {
        return channels.computeIfAbsent(id, _ -> new ChannelPipes());
    }

    /// The pipes of one channel. A pipe is kept until both ends have left its epoch: one end may
    /// have written everything and closed before the other end asks for the pipe.
    static final class ChannelPipes {
        private final Map<PipeKey, Pipe> pipes = new HashMap<>();
        private final Map<Integer, Integer> epochs = new HashMap<>();

        private record PipeKey(int source, int target, int epoch) {}

        /// The pipe from `source` to `target` in `epoch`. It is new and closed if one of them has
        /// already left the epoch without using it.
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

        /// Moves `rank` to `epoch` and closes its pipes of earlier epochs.
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
}
