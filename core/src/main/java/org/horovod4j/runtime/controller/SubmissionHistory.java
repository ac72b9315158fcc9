package org.horovod4j.runtime.controller;

import org.horovod4j.runtime.message.Request;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// The operations that the coordinator's own program has submitted, in order. Finds out whether
/// they repeat.
///
/// The order of one program's submissions is the same in every run; the order in which operations
/// become ready on all ranks is not. So plans, and what they fuse, are the same in every run.
final class SubmissionHistory {
    /// The longest step that is recognized.
    private static final int MAX_PERIOD = 1 << 16;

    private final Map<Request, Integer> numbers = new HashMap<>();
    private final Map<Integer, Integer> lastSeen = new HashMap<>();
    private final List<Integer> sequence = new ArrayList<>();
    private final List<RequestTally> tallies = new ArrayList<>();
    private int period;
    private int matched;

    /// Adds the next operation.
    void add(RequestTally requestTally, Request request) {
        if (sequence.size() >= 4 * MAX_PERIOD || numbers.size() >= MAX_PERIOD) {
            clear();
        }
        int number = number(request);
        int index = sequence.size();
        if (period > 0 && sequence.get(index - period) == number) {
            matched++;
        } else {
            Integer last = lastSeen.get(number);
            period = last == null ? 0 : index - last;
            matched = period > 0 ? 1 : 0;
        }
        lastSeen.put(number, index);
        sequence.add(number);
        tallies.add(requestTally);
    }

    /// Whether the last operations repeat those before them, and `next` is the first of them again.
    boolean repeats(Request next) {
        return period > 0
                && matched >= period
                && sequence.get(sequence.size() - period) == number(next);
    }

    /// The operations that repeat.
    List<RequestTally> step() {
        return List.copyOf(tallies.subList(tallies.size() - period, tallies.size()));
    }

    /// Forgets everything.
    void clear() {
        numbers.clear();
        lastSeen.clear();
        sequence.clear();
        tallies.clear();
        period = 0;
        matched = 0;
    }

    private int number(Request request) {
        Request key =
                request.collectiveKind().isRagged() && request.shape().rank() > 0
                        ? request.withShape(request.shape().withRows(0))
                        : request;
        return numbers.computeIfAbsent(key, _ -> numbers.size());
    }
}
