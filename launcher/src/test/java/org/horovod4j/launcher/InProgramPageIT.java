package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.Hvd;
import org.horovod4j.RankFunction;
import org.horovod4j.ReduceOp;
import org.horovod4j.elastic.Elastic;
import org.horovod4j.elastic.ObjectState;
import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/// Runs the snippets of `docs/in-program.md`.
class InProgramPageIT {
    private static final Pattern SNIPPET = Pattern.compile("(?s)```java\n(.*?)```");

    private static double train(Communicator comm, int epochs) {
        double[] loss = {1.0 / epochs};
        comm.allreduce("loss", loss, ReduceOp.AVERAGE);
        return loss[0];
    }

    @Test
    void functionWithResult() {
        int epochs = 2;
        List<Double> losses = Launcher.run(4, comm -> train(comm, epochs));
        assertThat(losses).containsExactly(0.5, 0.5, 0.5, 0.5);
    }

    @Test
    void functionWithoutResult() {
        Launcher.execute(2, comm -> System.out.println("hello from " + comm.rank()));
    }

    @Test
    void launchWithOptions() {
        int epochs = 4;
        Queue<String> log = new ConcurrentLinkedQueue<>();
        List<Double> losses =
                Launcher.processes(4)
                        .hosts("localhost:4")
                        .startTimeout(Duration.ofMinutes(2))
                        .options(Map.of("HOROVOD_FUSION_THRESHOLD", "16M"))
                        .environment(Map.of("OMP_NUM_THREADS", "1"))
                        .jvmOptions(List.of("-Xmx1g"))
                        .output(line -> log.add(line))
                        .run(comm -> train(comm, epochs));
        assertThat(losses).hasSize(4).containsOnly(0.25);
        // Ranks print nothing. A JVM warns if another one locks its file of performance data.
        assertThat(log).allMatch(line -> line.contains("[warning][perf,memops]"));
    }

    private static double validationLoss(Communicator comm, double rate) {
        double[] loss = {Math.abs(rate - 0.1)};
        comm.allreduce("loss", loss, ReduceOp.AVERAGE);
        return loss[0];
    }

    @Test
    void searchForHyperparameters() {
        record Trial(double rate, double loss) {}

        Trial best =
                DoubleStream.of(0.1, 1)
                        .mapToObj(
                                rate ->
                                        new Trial(
                                                rate,
                                                Launcher.run(2, comm -> validationLoss(comm, rate))
                                                        .getFirst()))
                        .min(Comparator.comparingDouble(Trial::loss))
                        .orElseThrow();
        assertThat(best).isEqualTo(new Trial(0.1, 0));
    }

    @Test
    void elasticJob() {
        List<Integer> steps =
                Launcher.processes(2)
                        .minProcesses(1)
                        .resetLimit(10)
                        .runElastic(
                                () -> {
                                    ObjectState state = new ObjectState().with("step", 0);
                                    boolean isTrained =
                                            Elastic.run(
                                                    state,
                                                    s -> {
                                                        while (s.getInt("step") < 100) {
                                                            Hvd.barrier();
                                                            s.set("step", s.getInt("step") + 1);
                                                            s.commit();
                                                        }
                                                    });
                                    return isTrained ? state.getInt("step") : 0;
                                });
        assertThat(steps).containsExactly(100, 100);
    }

    @Test
    void unsupportedCaptureIsRefused() {
        Thread thread = Thread.currentThread();
        assertThatThrownBy(
                        () -> {
                            Launcher.run(2, comm -> thread.getName());
                        })
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("cannot send a java.lang.Thread, at Method.captured[0]");
    }

    record Training(int epochs, double rate, List<String> files) implements RankFunction<Double> {
        @Override
        public Double apply(Communicator comm) {
            return epochs * rate + files.size() + comm.rank();
        }
    }

    @Test
    void recordAsFunction() {
        List<Double> losses = Launcher.run(2, new Training(10, 0.1, List.of("a.csv")));
        assertThat(losses).containsExactly(2.0, 3.0);
    }

    @Test
    void allSnippetsOfPageAreInThisTest() throws Exception {
        Path module = module();
        String page = Files.readString(module.resolve("../docs/in-program.md"));
        String source =
                Files.readString(
                        module.resolve(
                                "src/test/java/"
                                        + InProgramPageIT.class.getName().replace('.', '/')
                                        + ".java"));
        List<String> statements =
                SNIPPET.matcher(page)
                        .results()
                        .flatMap(
                                match ->
                                        Stream.of(
                                                withoutWhitespace(match.group(1)).split("(?<=;)")))
                        .filter(statement -> !statement.startsWith("import"))
                        .toList();
        assertThat(statements).hasSizeGreaterThan(5).allMatch(withoutWhitespace(source)::contains);
    }

    /// Without blanks: the indentation of snippets differs.
    private static String withoutWhitespace(String text) {
        return text.replaceAll("\\s", "");
    }

    /// The folder of this module, found from `target/test-classes`, where this class is.
    private static Path module() throws Exception {
        return Path.of(
                        InProgramPageIT.class
                                .getProtectionDomain()
                                .getCodeSource()
                                .getLocation()
                                .toURI())
                .resolve("../..")
                .normalize();
    }
}
