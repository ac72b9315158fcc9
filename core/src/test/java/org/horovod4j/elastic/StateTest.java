package org.horovod4j.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.codec.CodecException;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// Tests commit, restore and sync of states.
final class StateTest {
    @Test
    void inPlaceChangesDoNotAffectCommit() {
        List<Integer> losses = new ArrayList<>(List.of(3, 2));
        byte[] bytes = {1, 2};
        ObjectState state = new ObjectState().with("losses", losses).with("bytes", bytes);
        state.commit();
        losses.add(1);
        bytes[0] = 9;
        state.get("bytes", byte[].class)[0] = 9;
        assertThat(state.get("losses", List.class).toString()).isEqualTo("[3, 2]");
        assertThat(state.get("bytes", byte[].class)).containsExactly(1, 2);
        state.restore();
        assertThat(state.get("losses", List.class).toString()).isEqualTo("[3, 2]");
        assertThat(state.get("bytes", byte[].class)).containsExactly(1, 2);
    }

    @Test
    void restoreResetsAllPartsToLastCommit() {
        float[] weights = {1, 2, 3};
        ObjectState state = new ObjectState().with("weights", weights).with("step", 0);
        state.commit();
        weights[1] = 7;
        state.set("step", 1);
        state.commit();
        weights[2] = 8;
        state.set("step", 2);
        state.restore();
        assertThat(weights).containsExactly(1, 7, 3);
        assertThat(state.getInt("step")).isEqualTo(1);
        weights[0] = 5;
        state.restore();
        assertThat(weights).as("a commit may be taken back twice").containsExactly(1, 7, 3);
    }

    @Test
    void syncCopiesRootStateToAllRanks() {
        World.run(
                3,
                comm -> {
                    float[] weights = {comm.rank(), 10 + comm.rank()};
                    Tensor momentum = Tensor.zeros(DataType.FLOAT64, Shape.of(2, 2));
                    momentum.segment().setAtIndex(ValueLayout.JAVA_DOUBLE, 3, comm.rank());
                    ObjectState state =
                            new ObjectState()
                                    .with("weights", weights)
                                    .with("momentum", momentum)
                                    .with("name", "of " + comm.rank());
                    state.sync(comm, 2);
                    assertThat(weights).containsExactly(2, 12);
                    assertThat(momentum.toDoubleArray()).containsExactly(0, 0, 0, 2);
                    assertThat(state.get("name", String.class)).isEqualTo("of 2");
                });
    }

    @ParameterizedTest(name = "{0} floats, in the background: {1}")
    @CsvSource({"0, false", "5, false", "5, true", "3000001, false", "3000001, true"})
    void tensorsOfAnySizeAreRestored(int length, boolean inBackground) {
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = i;
        }
        float[] expected = values.clone();
        TensorState state = new TensorState().with("values", values);
        if (inBackground) {
            state.inBackground();
        }
        state.commit();
        state.awaitCommit();
        Arrays.fill(values, -1);
        state.restore();
        assertThat(values).isEqualTo(expected);
    }

    @Test
    void failedCommitKeepsPreviousCommit() {
        float[] kept = {1};
        Arena arena = Arena.ofShared();
        Tensor lost = Tensor.of(arena.allocate(4), DataType.FLOAT32);
        TensorState state = new TensorState().with("kept", kept).with("lost", lost).inBackground();
        state.commit();
        state.awaitCommit();
        kept[0] = 2;
        arena.close();
        state.commit();
        assertThatThrownBy(state::awaitCommit)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("committing tensors [kept, lost] in the background failed");
        assertThatThrownBy(state::restore).hasMessageContaining("closed");
        assertThat(kept).as("from the commit before").containsExactly(1);
    }

    /// Restoring values of the last commit with tensors of the previous one would give an
    /// inconsistent state.
    @Test
    void partiallyFailedCommitRestoresNothing() {
        Arena arena = Arena.ofShared();
        Tensor lost = Tensor.of(arena.allocate(4), DataType.FLOAT32);
        float[] weights = {1};
        ObjectState state =
                new ObjectState()
                        .with("weights", weights)
                        .with("lost", new TensorState().with("lost", lost).inBackground())
                        .with("step", 1);
        state.commit();
        state.awaitCommit();
        arena.close();
        state.commit();
        weights[0] = 3;
        state.set("step", 3);
        assertThatThrownBy(state::restore)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("committing tensors [lost] in the background failed");
        assertThat(weights).containsExactly(3);
        assertThat(state.getInt("step")).isEqualTo(3);
    }

    @Test
    void allPartsAreAwaitedEvenIfOneFails() {
        List<String> awaited = new ArrayList<>();
        ObjectState state =
                new ObjectState()
                        .with("a", new FailingAwaitState("a", awaited))
                        .with("b", new FailingAwaitState("b", awaited));
        assertThatThrownBy(state::awaitCommit)
                .hasMessage("a failed")
                .satisfies(e -> assertThat(e.getSuppressed()[0]).hasMessage("b failed"));
        assertThat(awaited).containsExactly("a", "b");
    }

    /// Records the call of `awaitCommit`, then fails.
    private static final class FailingAwaitState extends State {
        private final String name;
        private final List<String> awaited;

        FailingAwaitState(String name, List<String> awaited) {
            this.name = name;
            this.awaited = awaited;
        }

        @Override
        protected void save() {}

        @Override
        public void restore() {}

        @Override
        public void sync(Communicator communicator, int rootRank) {}

        @Override
        public void awaitCommit() {
            awaited.add(name);
            throw new IllegalStateException(name + " failed");
        }
    }

    @Test
    void confinedMemoryIsCopiedByItsOwnerThread() {
        try (Arena arena = Arena.ofConfined()) {
            Tensor large = Tensor.of(arena.allocate(16 << 20), DataType.INT8);
            TensorState state = new TensorState().with("large", large);
            state.commit();
            large.segment().fill((byte) 1);
            state.restore();
            assertThat(large.segment().get(ValueLayout.JAVA_BYTE, 9_999_999)).isZero();
        }
    }

    @Test
    void handlersSupportOtherTypes() {
        StringBuilder text = new StringBuilder("one");
        ObjectState state =
                new ObjectState(
                                StateHandlers.STANDARD.with(
                                        StringBuilder.class,
                                        (_, builder) -> new TextState(builder)))
                        .with("text", text);
        state.commit();
        text.append(" two");
        state.restore();
        assertThat(text.toString()).isEqualTo("one");
    }

    private static final class TextState extends State {
        private final StringBuilder text;
        private String committed = "";

        TextState(StringBuilder text) {
            this.text = text;
        }

        @Override
        protected void save() {
            committed = text.toString();
        }

        @Override
        public void restore() {
            text.replace(0, text.length(), committed);
        }

        @Override
        public void sync(Communicator communicator, int rootRank) {
            text.replace(
                    0,
                    text.length(),
                    communicator.broadcastObject("text", text.toString(), rootRank));
        }
    }

    @Test
    void wrongNamesAndTypesAreRejected() {
        ObjectState state = new ObjectState().with("step", 0).with("weights", new float[1]);
        assertThatThrownBy(() -> state.with("step", 1))
                .hasMessage("the state has a value 'step' already");
        assertThatThrownBy(() -> state.getInt("stop"))
                .hasMessage("the state has no value 'stop', only [step]");
        assertThatThrownBy(() -> state.getLong("step"))
                .hasMessage(
                        "value 'step' of the state is a java.lang.Integer, not a java.lang.Long");
        assertThatThrownBy(() -> state.set("weights", new float[1]))
                .hasMessageContaining("is kept by a handler: change it in place");
        assertThatThrownBy(() -> state.with("thread", Thread.currentThread()))
                .isInstanceOf(CodecException.class);
    }
}
