package org.horovod4j.runtime.fuzz;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.runtime.fuzz.FuzzStep.RankActions;
import org.horovod4j.runtime.message.CollectiveKind;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;

/// Generates random programs that repeat for a while, so that plans are locked, and disturbances of
/// them.
final class FuzzScript {
    private static final DataType[] TYPES = {
        DataType.FLOAT32,
        DataType.FLOAT32,
        DataType.FLOAT32,
        DataType.FLOAT16,
        DataType.FLOAT64,
        DataType.INT32,
        DataType.INT64,
        DataType.UINT8
    };
    private static final int ALL_RANKS = -1;

    /// The number of steps of a new program in which rank 0 submits in one order, so that a plan is
    /// learned.
    private static final int CALM_STEPS = 4;

    private final Random random;
    private final int ranks;
    private final List<Set<Integer>> sets;
    private final List<List<FuzzOperation>> programs = new ArrayList<>();
    private List<FuzzOperation> program = List.of();
    private int age;
    private int end;

    private enum Disruption {
        EXTRA,
        MISSING,
        SHAPE,
        TYPE,
        MISMATCH,
        WAIT,
        LATE,
        JOIN
    }

    private FuzzScript(long seed, int ranks, List<Set<Integer>> sets) {
        this.random = new Random(seed);
        this.ranks = ranks;
        this.sets = sets;
    }

    /// The steps for `seed`.
    static List<FuzzStep> of(long seed, int ranks, List<Set<Integer>> sets, int steps) {
        FuzzScript script = new FuzzScript(seed, ranks, sets);
        return IntStream.range(0, steps).mapToObj(script::step).toList();
    }

    private FuzzStep step(int number) {
        if (age == end) {
            program = nextProgram();
            age = 0;
            end = 3 + random.nextInt(24);
        }
        boolean calm = age++ < CALM_STEPS;
        return calm || random.nextInt(3) > 0 ? plain(number, calm) : disrupted(number);
    }

    private List<FuzzOperation> nextProgram() {
        if (programs.size() > 1 && random.nextInt(3) == 0) {
            return programs.get(random.nextInt(programs.size()));
        }
        List<FuzzOperation> made = new ArrayList<>();
        int size = 1 + random.nextInt(random.nextInt(4) == 0 ? 24 : 7);
        for (int i = 0; i < size; i++) {
            made.add(operation("t" + i));
        }
        programs.add(made);
        return made;
    }

    private FuzzOperation operation(String name) {
        CollectiveKind collectiveKind =
                switch (random.nextInt(12)) {
                    case 0 -> CollectiveKind.ALLGATHER;
                    case 1 -> CollectiveKind.BROADCAST;
                    case 2 -> CollectiveKind.ALLTOALL;
                    case 3 -> CollectiveKind.REDUCESCATTER;
                    default -> CollectiveKind.ALLREDUCE;
                };
        ReduceOp op =
                switch (random.nextInt(8)) {
                    case 0 ->
                            collectiveKind == CollectiveKind.ALLREDUCE
                                    ? ReduceOp.MAX
                                    : ReduceOp.SUM;
                    case 1 ->
                            collectiveKind == CollectiveKind.ALLREDUCE
                                    ? ReduceOp.PRODUCT
                                    : ReduceOp.SUM;
                    case 2 -> collectiveKind.isRagged() ? ReduceOp.SUM : ReduceOp.AVERAGE;
                    default -> ReduceOp.SUM;
                };
        int members =
                collectiveKind == CollectiveKind.ALLREDUCE && random.nextInt(6) == 0
                        ? 2 + random.nextInt(3)
                        : 1;
        int set =
                random.nextInt(5) == 0 && !sets.isEmpty() ? random.nextInt(sets.size()) : ALL_RANKS;
        return new FuzzOperation(
                name,
                collectiveKind,
                TYPES[random.nextInt(TYPES.length)],
                shape(),
                op,
                members,
                set);
    }

    private Shape shape() {
        int rows =
                switch (random.nextInt(10)) {
                    case 0 -> 0;
                    case 1 -> 500 + random.nextInt(2_000);
                    default -> 1 + random.nextInt(40);
                };
        return random.nextBoolean() ? Shape.of(rows) : Shape.of(rows, 1 + random.nextInt(5));
    }

    private FuzzStep plain(int number, boolean calm) {
        List<FuzzCall> calls = calls(program, number, Set.of(), FuzzCall.NO_RANK, -1);
        return new FuzzStep(
                number,
                calm ? "calm" : "plain",
                calls,
                tail(number, Set.of()),
                parts(calls.size(), calm, -1),
                Set.of(),
                -1,
                0);
    }

    private FuzzStep disrupted(int number) {
        Disruption disruption = Disruption.values()[random.nextInt(Disruption.values().length)];
        int chosen = random.nextInt(program.size());
        int rank = random.nextInt(ranks);
        List<FuzzOperation> changed = new ArrayList<>(program);
        FuzzOperation old = program.get(chosen);
        switch (disruption) {
            case EXTRA ->
                    changed.add(random.nextInt(program.size() + 1), operation("extra" + number));
            case MISSING -> changed.remove(chosen);
            case SHAPE -> changed.set(chosen, old.shaped(shape()));
            case TYPE -> changed.set(chosen, old.typed(TYPES[random.nextInt(TYPES.length)]));
            case JOIN -> changed.removeIf(each -> each.set() != ALL_RANKS);
            case MISMATCH, WAIT, LATE -> {}
        }
        if (random.nextBoolean() && disruption != Disruption.JOIN && !changed.isEmpty()) {
            program = List.copyOf(changed); // from now on
        }
        Set<Integer> joined =
                disruption == Disruption.JOIN && !changed.isEmpty() ? someRanks() : Set.of();
        int odd =
                disruption == Disruption.MISMATCH
                                && old.set() == ALL_RANKS
                                && old.shape().dimension(0) > 0
                        ? rank
                        : FuzzCall.NO_RANK;
        List<FuzzCall> calls = calls(changed, number, joined, odd, chosen);
        return new FuzzStep(
                number,
                "%s of %d on %d".formatted(disruption, chosen, rank),
                calls,
                disruption == Disruption.JOIN ? List.of() : tail(number, joined),
                parts(
                        calls.size(),
                        random.nextBoolean(),
                        disruption == Disruption.WAIT ? rank : -1),
                joined,
                disruption == Disruption.LATE ? rank : -1,
                random.nextInt(100) < 20 ? 30_000 : random.nextInt(200));
    }

    /// Not all of them.
    private Set<Integer> someRanks() {
        Set<Integer> some = new TreeSet<>();
        for (int rank = 0; rank < ranks; rank++) {
            if (random.nextBoolean() && some.size() < ranks - 1) {
                some.add(rank);
            }
        }
        return some;
    }

    private List<FuzzCall> calls(
            List<FuzzOperation> operations,
            int number,
            Set<Integer> joined,
            int odd,
            int disputed) {
        List<FuzzCall> calls = new ArrayList<>();
        for (int i = 0; i < operations.size(); i++) {
            FuzzOperation each = operations.get(i);
            int size = each.set() == ALL_RANKS ? ranks : sets.get(each.set()).size();
            calls.add(
                    new FuzzCall(
                            each,
                            number * 1_009L + i,
                            size,
                            joined,
                            i == disputed ? odd : FuzzCall.NO_RANK));
        }
        return calls;
    }

    /// A few synchronous operations, in some steps.
    private List<FuzzCall> tail(int number, Set<Integer> joined) {
        List<FuzzOperation> last = new ArrayList<>();
        if (age % 7 == 3) {
            for (int i = random.nextInt(3); i > 0; i--) {
                FuzzOperation each = operation("tail" + i);
                last.add(
                        each.set() == ALL_RANKS
                                ? each
                                : new FuzzOperation(
                                        each.name(),
                                        each.collectiveKind(),
                                        each.type(),
                                        each.shape(),
                                        each.op(),
                                        each.members(),
                                        ALL_RANKS));
            }
        }
        return calls(last, number + 1_000_000, joined, FuzzCall.NO_RANK, -1);
    }

    private List<RankActions> parts(int calls, boolean calm, int waiting) {
        List<RankActions> parts = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            boolean inOrder = rank == 0 && calm;
            int threads = inOrder ? 1 : 1 + random.nextInt(3);
            List<Integer> order = new ArrayList<>(IntStream.range(0, calls).boxed().toList());
            if (!inOrder && random.nextInt(3) > 0) {
                Collections.shuffle(order, random);
            }
            List<List<Integer>> shares = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                shares.add(new ArrayList<>());
            }
            for (int i = 0; i < calls; i++) {
                shares.get(i % threads).add(order.get(i));
            }
            int mine = shares.getFirst().size();
            int waitAfter = rank == waiting && mine > 1 ? 1 + random.nextInt(mine - 1) : 0;
            parts.add(new RankActions(shares, waitAfter, random.nextInt(4) == 0));
        }
        return parts;
    }
}
