package org.horovod4j.launcher.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.Invocation.Controller;
import org.horovod4j.launcher.command.Invocation.Elasticity;
import org.horovod4j.launcher.command.Invocation.GpuDemand;
import org.horovod4j.launcher.driver.Cooldown;
import org.horovod4j.launcher.driver.ElasticLimits;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

class JobFileTest {
    private final List<String> notices = new ArrayList<>();
    @TempDir Path folder;

    private Invocation.Launch read(String text, String... flags) throws IOException {
        Path file = Files.writeString(folder.resolve("job.yml"), text);
        List<String> words = new ArrayList<>(List.of("--job", file.toString()));
        words.addAll(List.of(flags));
        return (Invocation.Launch)
                new CommandLineReader(Map.of(), notices::add).read(words.toArray(String[]::new));
    }

    private static List<String> shell(String line) {
        return List.of("sh", "-c", line);
    }

    @Test
    void completeFileIsParsed() throws Exception {
        Invocation.Launch launch =
                read(
                        """
                        project: mnist
                        framework: djl
                        workers: 2
                        resources:
                          gpus: 4
                          cpus: 12
                          mem: 4096
                        hosts: [gpu1, "me@gpu2:8"]
                        engine: ssh
                        environment:
                          DATA: /data/mnist
                          HOROVOD_CYCLE_TIME: 2
                        run:
                          - ./fetch.sh "$DATA"
                          - java -cp app.jar Train --epochs 3
                        """,
                        "--verbose");
        assertThat(launch.processes()).isEqualTo(8);
        assertThat(launch.hosts())
                .containsExactly(
                        new Host("gpu1", 4), new Host("gpu2", 8, new Login("me", null, null)));
        assertThat(launch.options())
                .isEqualTo(Map.of("DATA", "/data/mnist", "HOROVOD_CYCLE_TIME", "2"));
        assertThat(launch.commands())
                .containsExactly(
                        shell("./fetch.sh \"$DATA\""),
                        List.of("java", "-cp", "app.jar", "Train", "--epochs", "3"));
        assertThat(notices)
                .singleElement()
                .asString()
                .startsWith("project mnist (djl): 2 workers with 4 processes each.");
    }

    @Test
    void elasticSectionIsParsed() throws Exception {
        Invocation.Launch launch =
                read(
                        """
                        workers: 4
                        elastic:
                          min: 2
                          max: 8
                          discovery: ./hosts.sh --all
                          slots_per_host: 2
                          timeout: 60
                          reset_limit: 3
                          cooldown: [5, 50]
                        run: train
                        """,
                        "--max-np",
                        "6");
        assertThat(launch.elasticity())
                .contains(
                        new Elasticity(
                                new ElasticLimits(4, 2, 6, 3),
                                new Cooldown(Duration.ofSeconds(5), Duration.ofSeconds(50)),
                                "./hosts.sh --all",
                                2,
                                Login.DEFAULT));
        assertThat(launch.options()).containsEntry("HOROVOD_ELASTIC_TIMEOUT", "60");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''                                                | 1",
                "'workers: 3'                                      | 3",
                "'workers: 3\nresources: {gpus: 2}'                | 6",
                "'workers: 3\nresources: {gpus: 0, cpus: 0.5}'     | 3",
                "'workers: {count: 3, processes: 1}\nresources: {gpus: 2, mem: 16G}' | 3",
                "'workers: {count: 3}'                             | 3",
                "'workers: {processes: 5}'                         | 5",
            })
    void workerRunsOneProcessPerGpuByDefault(String text, int processes) throws Exception {
        Invocation.Launch launch = read(text + "\nrun: train\n");
        assertThat(launch.processes()).isEqualTo(processes);
        assertThat(launch.hosts()).containsExactly(new Host("localhost", processes));
    }

    @Test
    void engineMpiRunsMpirun() throws Exception {
        assertThat(read("engine: mpi\nworkers: 2\nhosts: [a, b]\nrun: train\n").controller())
                .isEqualTo(new Controller.Mpi(List.of(), List.of(), false));
        assertThat(read("engine: mpi\nrun: train\n", "--gloo").controller())
                .isEqualTo(new Controller.BuiltIn());
        assertThat(read("engine: local\nrun: train\n").controller())
                .isEqualTo(new Controller.BuiltIn());
    }

    @Test
    void gpusOfWorkersAreCounted() throws Exception {
        GpuDemand demand =
                read("workers: {processes: 2}\nresources: {gpus: 4}\nrun: train\n").gpuDemand();
        assertThat(demand.of(1)).isEqualTo(4);
        assertThat(demand.of(2)).isEqualTo(4);
        assertThat(demand.of(3)).isEqualTo(8);
        assertThat(read("run: train\n").gpuDemand().of(3)).isZero();
    }

    @Test
    void flagsOverrideFile() throws Exception {
        Invocation.Launch launch =
                read(
                        "workers: 4\nenvironment: {HOROVOD_CYCLE_TIME: 2}\nrun: train\n",
                        "-np",
                        "2",
                        "-H",
                        "a:2",
                        "--cycle-time-ms",
                        "5",
                        "other",
                        "--fast");
        assertThat(launch.processes()).isEqualTo(2);
        assertThat(launch.hosts()).containsExactly(new Host("a", 2));
        assertThat(launch.options()).isEqualTo(Map.of("HOROVOD_CYCLE_TIME", "5"));
        assertThat(launch.commands()).containsExactly(List.of("other", "--fast"));
    }

    @Test
    void textIsSplitIntoLinesAndListItemIsNot() throws Exception {
        assertThat(read("run: |\n  prepare \\\n    --all\n\n  train | tee log\n").commands())
                .containsExactly(shell("prepare    --all"), shell("train | tee log"));
        assertThat(read("run:\n- |\n  for i in 1 2; do\n    echo $i\n  done\n").commands())
                .containsExactly(shell("for i in 1 2; do\n  echo $i\ndone"));
        assertThat(read("run: >-\n  train\n  --deep\n").commands())
                .containsExactly(shell("train --deep"));
    }

    @ParameterizedTest
    @CsvSource({
        "java -jar a.jar, true",
        "/opt/jdk/bin/java -cp a:b C x=1, true",
        "java -cp $CP C, false",
        "java C | tee log, false",
        "javac A.java, false",
        "echo java, false"
    })
    void plainJavaCommandBypassesShell(String line, boolean direct) throws Exception {
        assertThat(read("run: \"" + line + "\"\n").commands())
                .containsExactly(direct ? List.of(line.split(" ")) : shell(line));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'workers: 2'                       | :1: the key run is missing",
                "'wrokers: 2\nrun: x'               | :1: unknown key 'wrokers'. Did you mean workers?",
                "'workers: many\nrun: x'            | :1: workers: 'many' is not a whole number",
                "'workers: 0\nrun: x'               | :1: workers: '0' is not a whole number from 1",
                "'workers: [2]\nrun: x'             | :1: workers: needs a number, or count and processes",
                "'workers:\n  cuont: 2\nrun: x'     | :2: unknown key 'cuont' in workers. Did you mean count?",
                "'workers: 90000\nresources: {gpus: 8}\nrun: x' | :1: workers: 90000 workers with 8 processes each is more",
                "'run: x\nresources:\n  gpus: -1'   | :3: resources.gpus: '-1' is not a whole number",
                "'run: x\nresources:\n  mem: lots'  | :3: resources.mem: 'lots' is not an amount",
                "'run: x\nresources:\n  gpu: 1'     | :3: unknown key 'gpu' in resources. Did you mean gpus?",
                "'run: x\nhosts: [a b]'             | :2: hosts: 'a b' in 'a b' is not a host",
                "'run: x\nhosts: [a, a]'            | :2: hosts: host 'a' appears twice",
                "'run: x\nengine: slurm'            | :2: engine: there is no engine 'slurm'. The engines are local, ssh, mpi and spark. Under Slurm",
                "'run: x\nengine: ray'              | :2: engine: there is no engine 'ray'. The engines are local, ssh, mpi and spark.",
                "'run: x\nengine: shs'              | :2: engine: there is no engine 'shs'. Did you mean ssh?",
                "'run: x\nengine: ssh'              | :2: engine: ssh needs hosts",
                "'run: x\nhosts: [a]\nengine: local' | :3: engine: local means this machine, but hosts are named in line 2",
                "'run: x\nenvironment:\n  HOROVOD_RANK: 1' | :3: environment.HOROVOD_RANK: horovodrun sets this one",
                "'run: x\nenvironment:\n  HOROVOD_CYCLE_TIME: soon' | :3: HOROVOD_CYCLE_TIME is 'soon'",
                "'run: x\nenvironment:\n  a-b: 1'   | :3: environment.a-b: 'a-b' is not the name of a variable",
                "'run:\n- x\n- \"\"'                | :1: run: a command is empty",
                "'run: \"\"'                        | :1: run: a command is empty",
                "'run: {a: b}'                      | :1: run: needs a command",
                "'run:\n- echo hi: there'          | :2: run: a command with a colon and a space",
            })
    void errorNamesTheLine(String text, String message) {
        assertThatThrownBy(() -> read(text))
                .isInstanceOf(ConfigurationException.class)
                .message()
                .startsWith(folder.resolve("job.yml").toString())
                .contains(message);
    }

    private static final String SPARK_JOB =
            """
            project: train
            engine: spark
            workers:
              count: 2
              processes: 2
            resources:
              cpus: 4
              mem: 1.5G
            spark:
              master: spark://host:7077
              class: com.example.Train
              packages: [a:b:1, c:d:2]
              jars: own.jar
              conf:
                spark.executor.memoryOverhead: 1g
            elastic:
              max: 6
              min: 2
            run: train.jar --name "two words"
            """;

    @Test
    void sparkSettingsAreRead() throws Exception {
        Invocation.Launch launch = read(SPARK_JOB);

        Controller.Spark spark = (Controller.Spark) launch.controller();
        assertThat(spark.executors()).isEqualTo(3);
        assertThat(launch.processes()).isEqualTo(4);
        assertThat(launch.elasticity().orElseThrow().elasticLimits())
                .isEqualTo(new ElasticLimits(4, 2, 6, ElasticLimits.UNLIMITED));
        assertThat(launch.commands()).containsExactly(List.of("train.jar", "--name", "two words"));
        assertThat(spark.settings())
                .isEqualTo(
                        new SparkSettings(
                                "train",
                                "spark://host:7077",
                                null,
                                "com.example.Train",
                                List.of("a:b:1", "c:d:2"),
                                List.of(),
                                List.of("own.jar"),
                                List.of(),
                                4,
                                Map.of(
                                        "spark.executor.cores",
                                        "4",
                                        "spark.task.cpus",
                                        "2",
                                        "spark.executor.memory",
                                        "1536m",
                                        "spark.executor.memoryOverhead",
                                        "1g")));
    }

    @Test
    void flagsChangeTheNumberOfExecutors() throws Exception {
        Controller.Spark spark =
                (Controller.Spark) read(SPARK_JOB, "-np", "7", "--max-np", "7").controller();

        assertThat(spark.executors()).isEqualTo(4);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    spark: {clas: A}              | unknown key 'clas' in spark. Did you mean class?
                    spark: {deploy_mode: here}    | spark.deploy_mode: write client or cluster.
                    hosts: [a]                    | Spark chooses the hosts, but hosts are named in line 2.
                    resources: {cpus: 0.5}        | Spark gives each process whole cores: write a multiple of 1.
                    resources: {cpus: 2.5}        | Spark gives each process whole cores: write a multiple of 1.
                    spark: {conf: {spark.executor.cores: x}} | spark.conf.spark.executor.cores: 'x' is not a whole number
                    workers: {processes: 2}; resources: {gpus: 3} | Spark gives each process whole GPUs
                    elastic: {discovery: ./a.sh}  | unknown key 'discovery' in elastic.
                    """)
    void mistakesInJobsOnSparkAreFound(String line, String message) {
        assertThatThrownBy(
                        () ->
                                read(
                                        "engine: spark\n%s\nrun: a.jar"
                                                .formatted(line.replace("; ", "\n"))))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(message);
    }

    @Test
    void flagsThatSparkCannotFollowAreRefused() {
        assertThatThrownBy(() -> read(SPARK_JOB, "-H", "a:4"))
                .hasMessageContaining("has no effect with engine: spark of the job file");
        assertThatThrownBy(() -> read("spark: {class: A}\nrun: a"))
                .hasMessageContaining("spark: has an effect with engine: spark only");
        assertThatThrownBy(() -> read("engine: spark"))
                .hasMessageContaining("Add the jar and its arguments, as in run: train.jar");
    }
}
