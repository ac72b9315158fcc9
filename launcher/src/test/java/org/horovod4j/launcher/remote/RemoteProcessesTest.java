package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.frame.MalformedMessageException;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class RemoteProcessesTest {
    private static final byte[] END = {};

    private final List<AgentMessage.FromLauncher> commands = new ArrayList<>();
    private final RemoteProcesses processes = new RemoteProcesses(commands::add);

    @Test
    void processIsRemovedAfterExitAndEndOfBothStreams() throws Exception {
        for (int number = 0; number < 1000; number++) {
            RemoteProcesses.Entry entry = processes.register();
            assertThat(entry.number()).isEqualTo(number);
            processes.started(number, 12);
            processes.output(number, AgentMessage.StandardStream.OUT, new byte[] {65, 66});
            processes.output(number, AgentMessage.StandardStream.ERR, END);
            processes.exited(number, 3);
            assertThat(processes.size()).as("more may be printed").isEqualTo(1);
            processes.output(number, AgentMessage.StandardStream.OUT, END);
            assertThat(processes.size()).isZero();
            assertThat(entry.out().readAllBytes()).as("nothing is lost").containsExactly(65, 66);
            assertThat(entry.status()).isCompletedWithValue(3);
        }
    }

    @Test
    void exitAfterEndOfStreamsRemovesProcess() throws Exception {
        RemoteProcesses.Entry entry = processes.register();
        processes.started(0, 12);
        processes.output(0, AgentMessage.StandardStream.OUT, END);
        processes.output(0, AgentMessage.StandardStream.ERR, END);
        assertThat(processes.size()).isEqualTo(1);
        processes.exited(0, 0);
        assertThat(processes.size()).isZero();
        assertThat(entry.pid()).isCompletedWithValue(12L);
    }

    @Test
    void lateOutputIsIgnoredButUnknownNumbersAreRejected() throws Exception {
        processes.register();
        processes.notStarted(0, "no memory");
        assertThat(processes.size()).isZero();
        processes.output(0, AgentMessage.StandardStream.OUT, new byte[] {65});
        assertThatThrownBy(() -> processes.output(1, AgentMessage.StandardStream.OUT, END))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessage("a message about unknown process 1");
    }

    @Test
    void hostLossCompletesAllFutures() throws Exception {
        RemoteProcesses.Entry starting = processes.register();
        RemoteProcesses.Entry running = processes.register();
        processes.started(1, 12);
        processes.hostLost("it was silent");
        assertThat(processes.size()).isZero();
        assertThat(starting.pid()).isCompletedExceptionally();
        assertThat(running.status()).isCompletedWithValue(RemoteProcess.LOST);
        assertThat(running.out().readAllBytes()).isEmpty();
        assertThat(running.err().readAllBytes()).isEmpty();
    }

    @Test
    void readBytesAreCredited() throws Exception {
        RemoteProcesses.Entry entry = processes.register();
        processes.output(
                0, AgentMessage.StandardStream.ERR, new byte[AgentMessage.StandardStream.WINDOW]);
        assertThat(entry.err().readNBytes(AgentMessage.StandardStream.WINDOW))
                .hasSize(AgentMessage.StandardStream.WINDOW);
        int quarter = AgentMessage.StandardStream.WINDOW / 4;
        assertThat(commands)
                .hasSize(4)
                .containsOnly(new AgentMessage.Credit(0, AgentMessage.StandardStream.ERR, quarter));
    }
}
