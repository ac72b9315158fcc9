package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.horovod4j.ConfigurationException;
import org.junit.jupiter.api.Test;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/// Mistakes in a launch are reported before anything is started.
class LauncherTest {
    private static AbstractThrowableAssert<?, ?> refused(ThrowingCallable call) {
        return assertThatThrownBy(call).isInstanceOf(ConfigurationException.class);
    }

    @Test
    void numbersOutOfRangeAreRefused() {
        refused(() -> Launcher.run(0, _ -> 1)).hasMessageContaining("processes(0)");
        refused(() -> Launcher.processes(2).sshPort(70_000)).hasMessageContaining("1 to 65535");
        refused(() -> Launcher.processes(2).startTimeout(Duration.ZERO))
                .hasMessageContaining("HOROVOD_START_TIMEOUT");
    }

    @Test
    void invalidHostsAreRefused() {
        Path file = Path.of("no-such-hosts");
        refused(() -> Launcher.processes(2).hosts("a:1").hostFile(file))
                .hasMessageContaining("both say where to run");
        refused(() -> Launcher.processes(2).hostFile(file).run(_ -> 1))
                .hasMessageContaining("no-such-hosts");
        refused(() -> Launcher.processes(2).sshIdentity(Path.of("no-such-key")))
                .hasMessageContaining("no-such-key");
        refused(() -> Launcher.processes(3).hosts("localhost:2").run(_ -> 1))
                .hasMessageContaining("2 slots");
    }

    @Test
    void invalidOptionsAreRefused() {
        refused(() -> Launcher.processes(1).options(Map.of("HOROVOD_CYCLE_TIM", "1")))
                .hasMessage(
                        "HOROVOD_CYCLE_TIM: Horovod4J has no such option. Did you mean HOROVOD_CYCLE_TIME?");
        refused(() -> Launcher.processes(1).options(Map.of("HOROVOD_LOG_LEVEL", "loud")))
                .hasMessageContaining("'loud', which is not allowed")
                .hasMessageNotContaining("Until then it is ignored");
        refused(() -> Launcher.processes(1).options(Map.of("HOROVOD_CYCLE_TIME", "soon")))
                .hasMessageContaining("'soon', which is not allowed");
        refused(() -> Launcher.processes(1).options(Map.of("HOROVOD_RANK", "1")))
                .hasMessageContaining("set by the launcher itself");
        refused(() -> Launcher.processes(1).options(Map.of("PATH", "/bin")))
                .hasMessageContaining("Use environment(…)");
        refused(() -> Launcher.processes(1).environment(Map.of("HOROVOD_CYCLE_TIME", "1")))
                .hasMessageContaining("Use options(…)");
        refused(() -> Launcher.processes(1).environment(Map.of("A=B", "1")))
                .hasMessageContaining("'A=B'");
    }

    @Test
    void missingJavaIsRefused() {
        refused(() -> Launcher.processes(1).java("/no/such/java").run(_ -> 1))
                .hasMessageContaining("/no/such/java");
    }

    @Test
    void elasticSettingsAreChecked() {
        refused(() -> Launcher.processes(2).minProcesses(1).run(comm -> comm.rank()))
                .hasMessageEndingWith("are for elastic jobs. Call runElastic, or leave them out.");
        refused(() -> Launcher.processes(2).minProcesses(3).runElastic(() -> 1))
                .hasMessageContaining("--min-np");
        refused(() -> Launcher.processes(2).minProcesses(0))
                .hasMessage("minProcesses(0): give a number of 1 or more.");
        refused(() -> Launcher.processes(2).hosts("a:2").hostDiscovery("./hosts.sh"))
                .hasMessage("hostDiscovery and hosts both say where to run. Leave one out.");
        refused(() -> Launcher.processes(2).mpi().runElastic(() -> 1))
                .hasMessageStartingWith("mpi() cannot run an elastic job");
    }
}
