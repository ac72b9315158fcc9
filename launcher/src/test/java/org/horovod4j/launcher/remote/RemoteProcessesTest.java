package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.frame.MalformedMessageException;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class RemoteProcessesTest {
    private static final byte[] END = {};

    private final List<Message.Order> orders = new ArrayList<>();
    private final RemoteProcesses processes = new RemoteProcesses(orders::add);

    @Test
    void aProcessIsForgottenWhenItAndBothStreamsHaveEnded() throws Exception {
        for (int number = 0; number < 1000; number++) {
            RemoteProcesses.Entry entry = processes.expect();
            assertThat(entry.number()).isEqualTo(number);
            processes.started(number, 12);
            processes.printed(number, Message.Stream.OUT, new byte[] {65, 66});
            processes.printed(number, Message.Stream.ERR, END);
            processes.exited(number, 3);
            assertThat(processes.count()).as("more may be printed").isEqualTo(1);
            processes.printed(number, Message.Stream.OUT, END);
            assertThat(processes.count()).isZero();
            assertThat(entry.out().readAllBytes()).as("nothing is lost").containsExactly(65, 66);
            assertThat(entry.status()).isCompletedWithValue(3);
        }
    }

    @Test
    void anExitThatComesLastForgetsToo() throws Exception {
        RemoteProcesses.Entry entry = processes.expect();
        processes.started(0, 12);
        processes.printed(0, Message.Stream.OUT, END);
        processes.printed(0, Message.Stream.ERR, END);
        assertThat(processes.count()).isEqualTo(1);
        processes.exited(0, 0);
        assertThat(processes.count()).isZero();
        assertThat(entry.pid()).isCompletedWithValue(12L);
    }

    @Test
    void whatIsPrintedLaterIsOfNoInterestButStrangersAre() throws Exception {
        processes.expect();
        processes.notStarted(0, "no memory");
        assertThat(processes.count()).isZero();
        processes.printed(0, Message.Stream.OUT, new byte[] {65});
        assertThatThrownBy(() -> processes.printed(1, Message.Stream.OUT, END))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessage("news of process 1");
    }

    @Test
    void theLossOfAHostEndsEveryWait() throws Exception {
        RemoteProcesses.Entry starting = processes.expect();
        RemoteProcesses.Entry running = processes.expect();
        processes.started(1, 12);
        processes.lost("no sign of life");
        assertThat(processes.count()).isZero();
        assertThat(starting.pid()).isCompletedExceptionally();
        assertThat(running.status()).isCompletedWithValue(RemoteProcess.LOST);
        assertThat(running.out().readAllBytes()).isEmpty();
        assertThat(running.err().readAllBytes()).isEmpty();
    }

    @Test
    void whatIsReadIsGranted() throws Exception {
        RemoteProcesses.Entry entry = processes.expect();
        processes.printed(0, Message.Stream.ERR, new byte[Message.Stream.WINDOW]);
        assertThat(entry.err().readNBytes(Message.Stream.WINDOW)).hasSize(Message.Stream.WINDOW);
        int quarter = Message.Stream.WINDOW / 4;
        assertThat(orders)
                .hasSize(4)
                .containsOnly(new Message.Credit(0, Message.Stream.ERR, quarter));
    }
}
