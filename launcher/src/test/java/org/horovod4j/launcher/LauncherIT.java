package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.RankFunction;
import org.horovod4j.ReduceOp;
import org.horovod4j.testsupport.TestJvm;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Runs functions of this class in other processes.
class LauncherIT {
    private static final String OWN_FILE = LauncherIT.class.getName().replace('.', '/') + ".class";

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void resultsComeBackByRank(int size) {
        List<String> results = Launcher.run(size, comm -> comm.rank() + " of " + comm.size());
        assertThat(results)
                .containsExactlyElementsOf(
                        IntStream.range(0, size).mapToObj(rank -> rank + " of " + size).toList());
    }

    @Test
    void ranksAreProcessesThatReduceTogether() {
        record Sum(long process, float sum) {}
        List<Sum> sums =
                TestCommands.functionRanks(3)
                        .run(
                                comm -> {
                                    float[] tensor = {comm.rank() + 1};
                                    comm.allreduce("tensor", tensor, ReduceOp.SUM);
                                    return new Sum(ProcessHandle.current().pid(), tensor[0]);
                                });
        assertThat(sums).extracting(Sum::sum).containsOnly(6f);
        assertThat(sums)
                .extracting(Sum::process)
                .doesNotHaveDuplicates()
                .doesNotContain(ProcessHandle.current().pid());
    }

    enum Mood {
        CALM,
        LOUD
    }

    record Config(int epochs, List<String> names, Mood mood) {}

    @Test
    void capturedValuesReachRanks() {
        int number = 7;
        long large = 1L << 40;
        char letter = 'ü';
        double[] array = {1.5, -0.0};
        Config config = new Config(3, List.of("a", "b"), Mood.LOUD);
        Map<String, @Nullable Integer> map = Map.of("x", 1);
        List<String> results =
                TestCommands.functionRanks(2)
                        .run(
                                comm ->
                                        "%d %d %c %s %s %s %d"
                                                .formatted(
                                                        number,
                                                        large,
                                                        letter,
                                                        Arrays.toString(array),
                                                        config,
                                                        map,
                                                        comm.rank()));
        String same =
                "7 1099511627776 ü [1.5, -0.0] Config[epochs=3, names=[a, b], mood=LOUD] {x=1} ";
        assertThat(results).containsExactly(same + 0, same + 1);
    }

    private static int triple(Communicator comm) {
        return 3 * comm.rank();
    }

    private record Power(int exponent) implements RankFunction<Double> {
        @Override
        public Double apply(Communicator comm) {
            return Math.pow(comm.rank(), exponent);
        }

        double plusRank(Communicator comm) {
            return exponent + comm.rank();
        }
    }

    private static final class ClassFunction implements RankFunction<Integer> {
        private static final long serialVersionUID = 1L;

        @Override
        public Integer apply(Communicator comm) {
            return Hvd.rank() + 10;
        }
    }

    private enum EnumFunction implements RankFunction<String> {
        ONE {
            @Override
            public String apply(Communicator comm) {
                return "one " + comm.rank();
            }
        }
    }

    @Test
    void methodReferencesRecordsAndClassesAreFunctions() {
        assertThat(TestCommands.functionRanks(2).run(LauncherIT::triple)).containsExactly(0, 3);
        assertThat(TestCommands.functionRanks(2).run(Communicator::rank)).containsExactly(0, 1);
        assertThat(TestCommands.functionRanks(2).run(new Power(2)::plusRank))
                .containsExactly(2.0, 3.0);
        assertThat(TestCommands.functionRanks(3).run(new Power(2))).containsExactly(0.0, 1.0, 4.0);
        assertThat(TestCommands.functionRanks(2).run(new ClassFunction())).containsExactly(10, 11);
        assertThat(TestCommands.functionRanks(1).run(EnumFunction.ONE)).containsExactly("one 0");
    }

    @Test
    void actionWithoutResultIsExecuted(@TempDir Path folder) {
        String place = folder.toString();
        Launcher.execute(2, comm -> Files.writeString(Path.of(place, "r" + comm.rank()), "done"));
        assertThat(folder).isDirectoryContaining("glob:**/r0").isDirectoryContaining("glob:**/r1");
        List<@Nullable Object> nothing = TestCommands.functionRanks(2).run(_ -> null);
        assertThat(nothing).containsExactly(null, null);
    }

    @Test
    void outputGoesToGivenDestination() {
        ConcurrentLinkedQueue<String> lines = new ConcurrentLinkedQueue<>();
        TestCommands.functionRanks(2)
                .output(lines::add)
                .execute(
                        comm -> {
                            System.out.println("über " + comm.rank());
                            System.err.println("oops " + comm.rank());
                        });
        assertThat(lines)
                .containsExactlyInAnyOrder(
                        "[0]<stdout>:über 0",
                        "[1]<stdout>:über 1",
                        "[0]<stderr>:oops 0",
                        "[1]<stderr>:oops 1");

        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        TestCommands.functionRanks(1).output(out, err).execute(_ -> System.out.println("hello"));
        assertThat(out).hasToString("[0]<stdout>:hello\n");
        assertThat(err.size()).isZero();
    }

    @Test
    void optionsVariablesAndFlagsReachTheProcesses() {
        List<String> seen =
                Launcher.processes(1)
                        .hosts("localhost:1")
                        .startTimeout(Duration.ofSeconds(77))
                        .options(Map.of("HOROVOD_FUSION_THRESHOLD", "16M"))
                        .environment(Map.of("GREETING", "good day"))
                        .jvmOptions(List.of("-Xmx64m", "-Dcolour=blue"))
                        .run(
                                _ ->
                                        "%s %s %s %s %d"
                                                .formatted(
                                                        System.getenv("HOROVOD_START_TIMEOUT"),
                                                        System.getenv("HOROVOD_FUSION_THRESHOLD"),
                                                        System.getenv("GREETING"),
                                                        System.getProperty("colour"),
                                                        Runtime.getRuntime().maxMemory() >> 20));
        assertThat(seen).containsExactly("77 16M good day blue 64");
    }

    @ParameterizedTest
    @ValueSource(strings = {"auto", "tcp"})
    void ranksOfOneMachineAreNumberedTogetherUnderAllItsNames(
            String transport, @TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("hosts"), "localhost slots=2\n127.0.0.1:1\n");
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        List<String> places =
                TestCommands.functionRanks(3)
                        .hostFile(file)
                        .options(Map.of("HOROVOD_TRANSPORT", transport))
                        .output(new ByteArrayOutputStream(), err)
                        .run(
                                comm ->
                                        System.getenv("HOROVOD_HOSTNAME")
                                                + " "
                                                + comm.localRank()
                                                + " "
                                                + comm.crossRank()
                                                + " "
                                                + System.getenv("HOROVOD_LOCAL_RANK"));
        assertThat(places).containsExactly("localhost 0 0 0", "localhost 1 0 1", "127.0.0.1 2 0 2");
        assertThat(err.toString(UTF_8))
                .containsOnlyOnce("Hosts localhost and 127.0.0.1 are the same machine");
    }

    @Test
    void launchesRunConcurrently() {
        List<CompletableFuture<List<Integer>>> both =
                Stream.of(10, 20)
                        .map(
                                base ->
                                        CompletableFuture.supplyAsync(
                                                () ->
                                                        TestCommands.functionRanks(2)
                                                                .run(comm -> base + comm.rank()),
                                                task -> Thread.ofPlatform().start(task)))
                        .toList();
        assertThat(both.stream().map(CompletableFuture::join))
                .containsExactly(List.of(10, 11), List.of(20, 21));
    }

    @Test
    void rankMayLaunchNestedJob() {
        List<List<String>> results =
                Launcher.run(
                        2,
                        outer -> {
                            int number = outer.rank();
                            return Launcher.run(
                                    1, inner -> number + " " + inner.rank() + "/" + inner.size());
                        });
        assertThat(results).containsExactly(List.of("0 0/1"), List.of("1 0/1"));
    }

    @Test
    void missingClassIsNamed() {
        String without =
                String.join(
                        File.pathSeparator,
                        Arrays.stream(TestJvm.CLASS_PATH.split(File.pathSeparator))
                                .filter(part -> !Files.exists(Path.of(part, OWN_FILE)))
                                .toList());
        assertThatThrownBy(() -> Launcher.processes(2).classPath(without).run(LauncherIT::triple))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("on localhost threw org.horovod4j.ConfigurationException")
                .hasMessageContaining(LauncherIT.class.getName())
                .hasMessageContaining("class path of the ranks");
    }
}
