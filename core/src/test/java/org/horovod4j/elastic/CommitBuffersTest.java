package org.horovod4j.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.horovod4j.Tensor;
import org.junit.jupiter.api.Test;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;

/// Tests which of the two buffers holds the last commit, and from when on.
final class CommitBuffersTest {
    private final CommitBuffers<int[]> commitBuffers = new CommitBuffers<>(() -> "a number");
    private final CountDownLatch copying = new CountDownLatch(1);
    private final CountDownLatch mayEnd = new CountDownLatch(1);

    private static Runnable copy(int[] to, int value) {
        return () -> to[0] = value;
    }

    /// A copy that does not end before the test allows it.
    private Runnable slowCopy(Runnable copy) {
        return () -> {
            copying.countDown();
            try {
                mayEnd.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException("the test was interrupted", e);
            }
            copy.run();
        };
    }

    @Test
    void twoBuffersAlternate() {
        int[] one = new int[1];
        int[] other = new int[1];
        assertThat(commitBuffers.isEmpty()).isTrue();
        assertThat(commitBuffers.last()).isEmpty();
        commitBuffers.commit(one, copy(one, 1));
        assertThat(commitBuffers.isEmpty()).isFalse();
        assertThat(commitBuffers.spare()).as("there is one copy yet").isEmpty();
        commitBuffers.commit(other, copy(other, 2));
        assertThat(commitBuffers.last().orElseThrow()).isSameAs(other);
        assertThat(commitBuffers.spare().orElseThrow()).isSameAs(one);
    }

    @Test
    void tensorsAreCopiedByName() {
        Tensor a = Tensor.of(new float[] {1, 2});
        Tensor b = Tensor.of(new float[] {3});
        Map<String, Tensor> values = Map.of("a", a, "b", b);
        Map<String, Tensor> copies = CommitBuffers.copies(values);
        CommitBuffers.copy(
                Map.of("a", Tensor.of(new float[] {4, 5}), "b", Tensor.of(new float[] {6})),
                values);
        assertThat(a.toFloatArray()).containsExactly(4, 5);
        CommitBuffers.copy(copies, values);
        assertThat(a.toFloatArray()).containsExactly(1, 2);
        assertThat(b.toFloatArray()).containsExactly(3);
    }

    @Test
    void lastWaitsForBackgroundCommit() throws Exception {
        int[] one = {1};
        int[] other = new int[1];
        commitBuffers.commit(one, () -> {});
        commitBuffers.commit(other, slowCopy(copy(other, 2)), CommitBuffers.BACKGROUND);
        copying.await();
        FutureTask<Optional<int[]>> restoring = new FutureTask<>(commitBuffers::last);
        Thread waiting = Thread.ofPlatform().start(restoring);
        await().until(() -> waiting.getState() == Thread.State.WAITING);
        assertThat(one).as("the one before is whole as long").containsExactly(1);
        assertThat(restoring.isDone()).isFalse();
        mayEnd.countDown();
        assertThat(restoring.get().orElseThrow()).containsExactly(2);
    }

    @Test
    void failedBackgroundCommitRestoresPreviousCommit() throws Exception {
        int[] one = {1};
        int[] other = {7};
        commitBuffers.commit(one, () -> {});
        commitBuffers.commit(
                other,
                slowCopy(
                        () -> {
                            throw new OutOfMemoryError("no more");
                        }),
                CommitBuffers.BACKGROUND);
        copying.await();
        mayEnd.countDown();
        assertThatThrownBy(commitBuffers::last)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("committing a number in the background failed")
                .hasMessageEndingWith("no more");
        assertThat(commitBuffers.last().orElseThrow()).isSameAs(one);
        assertThat(commitBuffers.spare().orElseThrow())
                .as("an incomplete copy is written again")
                .isSameAs(other);
        commitBuffers.commit(other, copy(other, 2), CommitBuffers.BACKGROUND);
        assertThat(commitBuffers.last().orElseThrow()).containsExactly(2);
    }

    @Test
    void failedSynchronousCommitIsDiscarded() {
        int[] one = {1};
        commitBuffers.commit(one, () -> {});
        assertThatThrownBy(
                        () ->
                                commitBuffers.commit(
                                        new int[1],
                                        () -> {
                                            throw new IllegalStateException("closed");
                                        }))
                .hasMessage("closed");
        assertThat(commitBuffers.last().orElseThrow()).isSameAs(one);
    }
}
