package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.output.Console;
import org.horovod4j.launcher.plan.Host;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayOutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/// Jobs of several commands.
class CommandsIT {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    private int launch(int processes, String... scripts) throws Exception {
        List<List<String>> commands =
                List.of(scripts).stream().map(script -> List.of("sh", "-c", script)).toList();
        Invocation.Launch launch =
                new Invocation.Launch(
                        processes,
                        List.of(new Host("localhost", processes)),
                        new Controller.Own(),
                        new RemoteSide(null, List.of()),
                        new Reporting(false, null, false),
                        Map.of(),
                        commands);
        return new HorovodRun(new Console(out, err), System.getenv())
                .launch(launch, Soon.of(() -> JobSettings.of(System.getenv())));
    }

    @Test
    void allRanksEndACommandBeforeAnyStartsTheNext(@TempDir Path folder) throws Exception {
        String first =
                "[ $HOROVOD_RANK = 0 ] || sleep 0.5; touch %s/$HOROVOD_RANK".formatted(folder);
        String second = "ls %s | wc -l".formatted(folder);
        assertThat(launch(3, first, second)).as(err.toString(UTF_8)).isZero();
        assertThat(out.toString(UTF_8).lines())
                .containsExactlyInAnyOrder("[0]<stdout>:3", "[1]<stdout>:3", "[2]<stdout>:3");
    }

    @Test
    void ranksMeetAnewForEachCommand() throws Exception {
        String java =
                "%s/bin/java --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp %s %s"
                        .formatted(
                                System.getProperty("java.home"),
                                System.getProperty("java.class.path"),
                                SumOfRanks.class.getName());
        assertThat(launch(2, java, java)).as(err.toString(UTF_8)).isZero();
        assertThat(out.toString(UTF_8).lines().filter(line -> line.endsWith("sum=1"))).hasSize(4);
    }

    @Test
    void afterAFailureNothingMoreIsStarted() throws Exception {
        assertThat(launch(2, "echo one", "exit $HOROVOD_RANK", "echo three")).isOne();
        assertThat(out.toString(UTF_8)).contains("one").doesNotContain("three");
        assertThat(err.toString(UTF_8)).contains("First to fail was rank 1", "exit code 1");
    }
}
