package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Map;

/// Jobs whose connections the flag `--tls` encrypts.
class TlsIT {
    /// A rank that sums all ranks, and prints whether it uses encryption.
    static final class Sum {
        private Sum() {}

        public static void main(String[] arguments) {
            Hvd.init();
            float[] sum = {Hvd.rank() + 1};
            Hvd.allreduce("sum", sum, ReduceOp.SUM);
            IO.println("tls=%s sum=%.0f".formatted(System.getenv("HOROVOD_TLS"), sum[0]));
            Hvd.shutdown();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"auto", "tcp"})
    void tlsFlagReachesRanks(String transport) throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        Map.of("HOROVOD_TRANSPORT", transport),
                        TestCommands.job("-np 2 --tls", Sum.class))) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.stdout().lines())
                    .containsExactlyInAnyOrder(
                            "[0]<stdout>:tls=1 sum=3", "[1]<stdout>:tls=1 sum=3");
        }
    }

    @Test
    void unencryptedRanksAreRejected() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        "-np",
                        "2",
                        "--tls",
                        "sh",
                        "-c",
                        "HOROVOD_TLS=0 exec \"$@\"",
                        "sh",
                        TestJvm.JAVA,
                        TestJvm.NO_PERFORMANCE_DATA,
                        "-cp",
                        TestJvm.CLASS_PATH,
                        Sum.class.getName())) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stdout()).isEmpty();
            assertThat(launcher.stderr()).contains("encrypts, while HOROVOD_TLS is off here");
        }
    }
}
