package org.horovod4j.rendezvous;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/// A survey on the rank that requested it: the answers so far.
final class Survey {
    /// How long ranks may take to answer. They need milliseconds, unless they are stopped or gone.
    static final Duration TIMEOUT = Duration.ofSeconds(2);

    private final int id;
    private final Map<Integer, byte[]> answers = new ConcurrentHashMap<>();
    private final CompletableFuture<Boolean> completed = new CompletableFuture<>();

    Survey(int id) {
        this.id = id;
    }

    int id() {
        return id;
    }

    void answered(int rank, byte[] text) {
        answers.put(rank, text);
    }

    /// No more answers come.
    void complete() {
        completed.complete(true);
    }

    /// The answers of ranks 0 to `size - 1`, null for those that have not answered in time.
    List<byte @Nullable []> await(int size) {
        var _ =
                completed
                        .completeOnTimeout(false, TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
                        .join();
        List<byte @Nullable []> all = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            all.add(answers.get(rank));
        }
        return Collections.unmodifiableList(all);
    }
}
