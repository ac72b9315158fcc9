package org.horovod4j.runtime.controller;

import org.horovod4j.runtime.message.Request;
import org.horovod4j.spi.CompositeCall;
import org.jspecify.annotations.Nullable;

import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// Finds names that ranks use for different calls, such as an allreduce on one rank and a group on
/// another.
///
/// The operations of a [CompositeCall] have names of their own. Ranks that use one name for
/// different calls therefore wait for each other under different names. A conflict is decided like
/// any mismatch, when every rank has submitted something under the name. A rank has at most one
/// call of a name in flight, so different calls are calls of different ranks.
final class CallConflicts {
    /// The tallies of composite calls, by the name that the program gave.
    private final Map<String, Set<RequestTally>> parts = new HashMap<>();

    /// Names that may be used for different calls.
    private final Set<String> suspects = new LinkedHashSet<>();

    /// Records a request that was added to a tally.
    ///
    /// @param plain the tally of the operation that has the program's name itself, if it is open
    void added(Request request, RequestTally requestTally, @Nullable RequestTally plain) {
        String name = request.programName();
        Set<RequestTally> others = parts.get(name);
        if (!request.isPart()) {
            if (others != null) {
                suspects.add(name);
            }
            return;
        }
        if (others == null) {
            others = new LinkedHashSet<>();
            parts.put(name, others);
        }
        boolean sameCall =
                others.isEmpty() || others.iterator().next().first().call().equals(request.call());
        if (!sameCall || (plain != null && !plain.equals(requestTally))) {
            suspects.add(name);
        }
        others.add(requestTally);
    }

    /// Whether no request belongs to a composite call.
    boolean isEmpty() {
        return parts.isEmpty();
    }

    /// Forgets a tally that was decided.
    void removed(RequestTally requestTally) {
        for (Request request : requestTally.requests().values()) {
            Set<RequestTally> others = parts.get(request.programName());
            if (others != null && others.remove(requestTally) && others.isEmpty()) {
                parts.remove(request.programName());
            }
        }
    }

    /// Forgets everything.
    void clear() {
        parts.clear();
        suspects.clear();
    }

    /// Returns the conflicts that every rank takes part in, each once: their tallies, by name. The
    /// caller decides these tallies, and then calls [#removed].
    ///
    /// @param tallies all open tallies, by the name of the operation
    /// @param joined the ranks that have joined
    Map<String, List<RequestTally>> take(
            Map<String, RequestTally> tallies, BitSet joined, int size) {
        if (suspects.isEmpty()) {
            return Map.of();
        }
        Map<String, List<RequestTally>> conflicts = new LinkedHashMap<>();
        for (String name : List.copyOf(suspects)) {
            Set<RequestTally> open = new LinkedHashSet<>(parts.getOrDefault(name, Set.of()));
            RequestTally plain = tallies.get(name);
            if (plain != null) {
                open.add(plain);
            }
            if (open.size() < 2 || isOneCall(open)) { // the other call was decided meanwhile
                suspects.remove(name);
            } else if (RequestTally.haveAllSubmitted(
                    joined, size, rank -> open.stream().anyMatch(tally -> tally.has(rank)))) {
                suspects.remove(name);
                conflicts.put(name, List.copyOf(open));
            }
        }
        return conflicts;
    }

    private static boolean isOneCall(Set<RequestTally> open) {
        CompositeCall call = open.iterator().next().first().call();
        return open.stream()
                .allMatch(tally -> tally.allMatch(request -> request.call().equals(call)));
    }
}
