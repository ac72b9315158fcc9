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
            RemoteProcess process = processes.add();
            assertThat(process.number()).isEqualTo(number);
            processes.update(number, it -> it.started(12));
            output(number, AgentMessage.StandardStream.OUT, new byte[] {65, 66});
            output(number, AgentMessage.StandardStream.ERR, END);
            processes.update(number, it -> it.exited(3));
            assertThat(processes.size()).as("more may be printed").isEqualTo(1);
            output(number, AgentMessage.StandardStream.OUT, END);
            assertThat(processes.size()).isZero();
            assertThat(process.getInputStream().readAllBytes())
                    .as("nothing is lost")
                    .containsExactly(65, 66);
            assertThat(process.waitFor()).isEqualTo(3);
        }
    }

    @Test
    void exitAfterEndOfStreamsRemovesProcess() throws Exception {
        RemoteProcess process = processes.add();
        processes.update(0, it -> it.started(12));
        output(0, AgentMessage.StandardStream.OUT, END);
        output(0, AgentMessage.StandardStream.ERR, END);
        assertThat(processes.size()).isEqualTo(1);
        processes.update(0, it -> it.exited(0));
        assertThat(processes.size()).isZero();
        assertThat(process.pid()).isEqualTo(12);
    }

    @Test
    void lateOutputIsIgnoredButUnknownNumbersAreRejected() throws Exception {
        processes.add();
        processes.notStarted(0, "no memory");
        assertThat(processes.size()).isZero();
        output(0, AgentMessage.StandardStream.OUT, new byte[] {65});
        assertThatThrownBy(() -> output(1, AgentMessage.StandardStream.OUT, END))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessage("a message about unknown process 1");
    }

    @Test
    void hostLossCompletesAllFutures() throws Exception {
        RemoteProcess starting = processes.add();
        RemoteProcess running = processes.add();
        processes.update(1, it -> it.started(12));
        processes.hostLost("it was silent");
        assertThat(processes.size()).isZero();
        assertThat(starting.start()).isCompletedExceptionally();
        assertThat(running.exitValue()).isEqualTo(RemoteProcess.LOST);
        assertThat(running.getInputStream().readAllBytes()).isEmpty();
        assertThat(running.getErrorStream().readAllBytes()).isEmpty();
    }

    @Test
    void readBytesAreCredited() throws Exception {
        RemoteProcess process = processes.add();
        output(0, AgentMessage.StandardStream.ERR, new byte[AgentMessage.StandardStream.WINDOW]);
        assertThat(process.getErrorStream().readNBytes(AgentMessage.StandardStream.WINDOW))
                .hasSize(AgentMessage.StandardStream.WINDOW);
        int quarter = AgentMessage.StandardStream.WINDOW / 4;
        assertThat(commands)
                .hasSize(4)
                .containsOnly(new AgentMessage.Credit(0, AgentMessage.StandardStream.ERR, quarter));
    }

    private void output(int number, AgentMessage.StandardStream standardStream, byte[] bytes)
            throws MalformedMessageException {
        processes.update(number, process -> process.output(standardStream, bytes));
    }
}
