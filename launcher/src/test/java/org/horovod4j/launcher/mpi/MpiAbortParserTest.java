package org.horovod4j.launcher.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.process.ExitStatus;
import org.junit.jupiter.api.Test;

import java.util.List;

/// The texts are those of Open MPI 4.1 and MPICH 4.0.
class MpiAbortParserTest {
    private final MpiAbortParser parser = new MpiAbortParser();

    @Test
    void openMpiExitCodeIsParsed() {
        assertThat(
                        abortHeaders(
                                """
                                --------------------------------------------------------------------------
                                Primary job  terminated normally, but 1 process returned
                                a non-zero exit code. Per user-direction, the job has been aborted.
                                --------------------------------------------------------------------------
                                --------------------------------------------------------------------------
                                mpirun detected that one or more processes exited with non-zero status, thus causing
                                the job to be terminated. The first process to do so was:

                                  Process name: [[24223,1],1]
                                  Exit code:    7
                                --------------------------------------------------------------------------
                                """))
                .hasSize(1);
        assertThat(parser.rank()).hasValue(1);
        assertThat(parser.ending()).isEqualTo(new ExitStatus(7));
    }

    @Test
    void openMpiSignalIsParsed() {
        abortHeaders(
                "mpirun noticed that process rank 12 with PID 0 on node vm exited on signal 9 (Killed).");
        assertThat(parser.rank()).hasValue(12);
        assertThat(parser.ending()).hasToString("killed by signal 9 (SIGKILL)");
    }

    @Test
    void mpichReportsOnlyThatProcessFailed() {
        assertThat(
                        abortHeaders(
                                """

                                ===================================================================================
                                =   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
                                =   PID 12956 RUNNING AT vm
                                =   EXIT CODE: 9
                                =   CLEANING UP REMAINING PROCESSES
                                =   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
                                ===================================================================================
                                YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
                                This typically refers to a problem with your application.
                                """))
                .hasSize(1);
        assertThat(parser.rank()).isEmpty();
    }

    @Test
    void otherLinesAreIgnored() {
        assertThat(abortHeaders("Exit code: 7\nnothing\n\n")).isEmpty();
        assertThat(parser.rank()).isEmpty();
        assertThat(parser.ending()).isNull();
    }

    /// The lines that announce a failure.
    private List<String> abortHeaders(String text) {
        return text.lines().filter(parser::read).toList();
    }
}
