package org.horovod4j.runtime.controller;

import org.horovod4j.runtime.fusion.Fusion;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.runtime.message.Request;
import org.jspecify.annotations.Nullable;

import java.util.BitSet;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import java.util.function.Predicate;

/// The requests of all ranks for one operation.
final class RequestTally {
    private final String name;
    private final int ranks;

    /// By rank; dropped after the decision.
    private @Nullable Request @Nullable [] requests;

    private @Nullable Request first;
    private int firstRank = Integer.MAX_VALUE;
    private int count;
    private boolean agreed = true;
    private boolean shared = true;
    private boolean ready;
    private long segmentHash;

    RequestTally(String name, int ranks) {
        this.name = name;
        this.ranks = ranks;
        this.requests = new Request[ranks];
    }

    String name() {
        return name;
    }

    /// Adds the request of a rank.
    ///
    /// @param segment of that rank's program; see
    ///     [org.horovod4j.runtime.message.RankMessage.Submit]
    void add(int rank, Request request, long segment) {
        requestsByRank()[rank] = request;
        agreed &= first == null || first.matches(request);
        shared &= request.shared();
        if (rank < firstRank) {
            firstRank = rank;
            first = request;
        }
        count++;
        segmentHash += mixed(segment * ranks + rank + 1);
    }

    /// Mixes the bits of a number, as [java.util.SplittableRandom] does, so that sums of different
    /// numbers differ.
    private static long mixed(long number) {
        long mixed = (number ^ (number >>> 30)) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
        return mixed ^ (mixed >>> 31);
    }

    /// Whether every rank has submitted, except those that have joined.
    static boolean haveAllSubmitted(BitSet joined, int ranks, IntPredicate hasSubmitted) {
        for (int rank = joined.nextClearBit(0);
                rank < ranks;
                rank = joined.nextClearBit(rank + 1)) {
            if (!hasSubmitted.test(rank)) {
                return false;
            }
        }
        return true;
    }

    boolean has(int rank) {
        return requestsByRank()[rank] != null;
    }

    int count() {
        return count;
    }

    /// Whether all requests match.
    boolean isAgreed() {
        return agreed;
    }

    /// Marks the operation as ready: no further rank is needed.
    ///
    /// @return whether it was not ready before
    boolean markReady() {
        boolean isNew = !ready;
        ready = true;
        return isNew;
    }

    /// Drops the requests after the decision: histories keep many tallies.
    void clearRequests() {
        requests = null;
    }

    /// The request of the lowest rank so far.
    Request first() {
        return Objects.requireNonNull(first, "has a request");
    }

    /// All requests, by rank.
    SortedMap<Integer, Request> requests() {
        SortedMap<Integer, Request> byRank = new TreeMap<>();
        for (int rank = 0; rank < ranks; rank++) {
            Request request = requestsByRank()[rank];
            if (request != null) {
                byRank.put(rank, request);
            }
        }
        return byRank;
    }

    boolean allMatch(Predicate<Request> condition) {
        for (Request request : requestsByRank()) {
            if (request != null && !condition.test(request)) {
                return false;
            }
        }
        return true;
    }

    /// The operation as an item to be fused.
    Fusion.Item item(long segment) {
        Request request = first().withShared(shared && count == ranks);
        long bytes =
                request.byteSize()
                        * (request.collectiveKind() == CollectiveKind.ALLGATHER ? ranks : 1);
        return new Fusion.Item(request, bytes, segment, count);
    }

    /// A hash that is equal for operations of the same segment on every rank, and with high
    /// probability different for others.
    long segmentHash() {
        return segmentHash;
    }

    private @Nullable Request[] requestsByRank() {
        return Objects.requireNonNull(requests, "not decided yet");
    }
}
