package org.horovod4j.runtime.controller;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.runtime.message.CollectiveKind;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.message.TestRequests;
import org.junit.jupiter.api.Test;

class SubmissionHistoryTest {
    private final SubmissionHistory submissionHistory = new SubmissionHistory();

    /// Adds sums of these names, one letter each.
    private void add(String names) {
        for (String name : names.codePoints().mapToObj(Character::toString).toList()) {
            add(TestRequests.sum(name, 3));
        }
    }

    private void add(Request request) {
        RequestTally requestTally = new RequestTally(request.name(), 1);
        requestTally.add(0, request, 0);
        submissionHistory.add(requestTally, request);
    }

    private boolean repeatsAt(String next) {
        return submissionHistory.repeats(TestRequests.sum(next, 3));
    }

    private String step() {
        return String.join("", submissionHistory.step().stream().map(RequestTally::name).toList());
    }

    @Test
    void twoEqualStepsRepeatWhenTheThirdBegins() {
        add("abc");
        assertThat(repeatsAt("a")).isFalse();
        add("ab");
        assertThat(repeatsAt("c")).isFalse();
        add("c");
        assertThat(repeatsAt("a")).isTrue();
        assertThat(repeatsAt("b")).isFalse();
        assertThat(step()).isEqualTo("abc");
    }

    @Test
    void aNameMayComeTwiceInAStep() {
        add("abacabacabac");
        assertThat(repeatsAt("a")).isTrue();
        assertThat(step()).isEqualTo("abac");
    }

    @Test
    void oneOperationMayBeAStep() {
        add("aa");
        assertThat(repeatsAt("a")).isTrue();
        assertThat(step()).isEqualTo("a");
    }

    @Test
    void whatCameBeforeDoesNotCount() {
        add("xyzabcabc");
        assertThat(repeatsAt("a")).isTrue();
        assertThat(step()).isEqualTo("abc");
    }

    @Test
    void otherOperationBreaksTheRepetition() {
        add("abcabxc");
        assertThat(repeatsAt("a")).isFalse();
        add("abcabc");
        assertThat(repeatsAt("a")).isTrue();
    }

    @Test
    void anotherShapeIsAnotherOperation() {
        add("ab");
        add(TestRequests.sum("a", 4));
        add("b");
        assertThat(repeatsAt("a")).isFalse();
    }

    @Test
    void differentRowCountIsTheSameOperation() {
        for (int rows = 1; rows < 3; rows++) {
            add(TestRequests.of(CollectiveKind.ALLGATHER, "g", DataType.INT8, Shape.of(rows, 2)));
            add("a");
        }
        assertThat(
                        submissionHistory.repeats(
                                TestRequests.of(
                                        CollectiveKind.ALLGATHER,
                                        "g",
                                        DataType.INT8,
                                        Shape.of(9, 2))))
                .isTrue();
    }

    @Test
    void aStepMayBeginAnywhere() {
        add("bcabca");
        assertThat(repeatsAt("b")).isTrue();
        assertThat(step()).isEqualTo("bca");
    }

    @Test
    void clearForgetsAllOperations() {
        add("abab");
        submissionHistory.clear();
        assertThat(repeatsAt("a")).isFalse();
        add("ab");
        assertThat(repeatsAt("a")).isFalse();
    }
}
