package org.horovod4j.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.Test;

import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;

/// Which of two copies is the last commit, and when.
final class CommitsTest {
    private final Commits<int[]> commits = new Commits<>(() -> "a number");
    private final CountDownLatch copying = new CountDownLatch(1);
    private final CountDownLatch mayEnd = new CountDownLatch(1);

    private static Runnable copy(int[] to, int value) {
        return () -> to[0] = value;
    }

    /// One that is under way until the test lets it end.
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
    void theCopiesTakeTurns() {
        int[] one = new int[1];
        int[] other = new int[1];
        assertThat(commits.isEmpty()).isTrue();
        assertThat(commits.last()).isEmpty();
        commits.make(one, copy(one, 1));
        assertThat(commits.isEmpty()).isFalse();
        assertThat(commits.spare()).as("there is one copy yet").isEmpty();
        commits.make(other, copy(other, 2));
        assertThat(commits.last().orElseThrow()).isSameAs(other);
        assertThat(commits.spare().orElseThrow()).isSameAs(one);
    }

    @Test
    void whoWantsACommitThatIsUnderWayWaitsForIt() throws Exception {
        int[] one = {1};
        int[] other = new int[1];
        commits.make(one, () -> {});
        commits.make(other, slowCopy(copy(other, 2)), Commits.BACKGROUND);
        copying.await();
        FutureTask<Optional<int[]>> restoring = new FutureTask<>(commits::last);
        Thread waiting = Thread.ofPlatform().start(restoring);
        await().until(() -> waiting.getState() == Thread.State.WAITING);
        assertThat(one).as("the one before is whole as long").containsExactly(1);
        assertThat(restoring.isDone()).isFalse();
        mayEnd.countDown();
        assertThat(restoring.get().orElseThrow()).containsExactly(2);
    }

    @Test
    void afterACommitThatFailedTheOneBeforeIsTheLast() throws Exception {
        int[] one = {1};
        int[] other = {7};
        commits.make(one, () -> {});
        commits.make(
                other,
                slowCopy(
                        () -> {
                            throw new OutOfMemoryError("no more");
                        }),
                Commits.BACKGROUND);
        copying.await();
        mayEnd.countDown();
        assertThatThrownBy(commits::last)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("committing a number in the background failed")
                .hasMessageEndingWith("no more");
        assertThat(commits.last().orElseThrow()).isSameAs(one);
        assertThat(commits.spare().orElseThrow())
                .as("what is torn is written anew")
                .isSameAs(other);
        commits.make(other, copy(other, 2), Commits.BACKGROUND);
        assertThat(commits.last().orElseThrow()).containsExactly(2);
    }

    @Test
    void aCommitThatFailsAtOnceIsNone() {
        int[] one = {1};
        commits.make(one, () -> {});
        assertThatThrownBy(
                        () ->
                                commits.make(
                                        new int[1],
                                        () -> {
                                            throw new IllegalStateException("closed");
                                        }))
                .hasMessage("closed");
        assertThat(commits.last().orElseThrow()).isSameAs(one);
    }
}
