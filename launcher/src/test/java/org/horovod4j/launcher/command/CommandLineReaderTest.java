package org.horovod4j.launcher.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.command.Invocation.Controller;
import org.horovod4j.launcher.command.Invocation.Elasticity;
import org.horovod4j.launcher.command.Invocation.GpuDemand;
import org.horovod4j.launcher.command.Invocation.OutputSettings;
import org.horovod4j.launcher.command.Invocation.RemoteSetup;
import org.horovod4j.launcher.driver.Cooldown;
import org.horovod4j.launcher.driver.ElasticLimits;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

class CommandLineReaderTest {
    private final List<String> notices = new ArrayList<>();

    private CommandLineReader reader(Map<String, String> environment) {
        return new CommandLineReader(environment, notices::add);
    }

    private Invocation read(String line) {
        return reader(Map.of()).read(line.isEmpty() ? new String[0] : line.split(" "));
    }

    private static Invocation launch(
            int processes,
            int slots,
            boolean verbose,
            Map<String, String> options,
            List<String> command) {
        return new Invocation.Launch(
                processes,
                List.of(new Host("localhost", slots)),
                new Controller.BuiltIn(),
                new RemoteSetup(null, List.of()),
                new OutputSettings(verbose, null, false),
                options,
                List.of(command),
                Optional.empty(),
                GpuDemand.NONE);
    }

    @Test
    void allFlagsAreParsed() {
        assertThat(read("-np 2 -H localhost:4 --verbose train --fast"))
                .isEqualTo(launch(2, 4, true, Map.of(), List.of("train", "--fast")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-np 3 train", "--num-proc 3 train", "--num-proc=3 -- train"})
    void defaultIsLocalhostWithAllProcesses(String line) {
        assertThat(read(line)).isEqualTo(launch(3, 3, false, Map.of(), List.of("train")));
    }

    @ParameterizedTest
    @CsvSource({"-H localhost:2, 2", "-H localhost, 1", "'-H a:2,b', 3"})
    void processesDefaultToSlotsOfHosts(String hosts, int processes) {
        assertThat(launched(hosts + " train").processes()).isEqualTo(processes);
    }

    @Test
    void processesDefaultToSlotsOfHostFile(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("hosts"), "a\nb slots=3\n");
        assertThat(launched("--hostfile " + file + " train").processes()).isEqualTo(4);
    }

    @Test
    void optionFlagSetsVariable() {
        assertThat(read("-np 2 --transport tcp --start-timeout 5 train"))
                .isEqualTo(
                        launch(
                                2,
                                2,
                                false,
                                Map.of("HOROVOD_TRANSPORT", "tcp", "HOROVOD_START_TIMEOUT", "5"),
                                List.of("train")));
    }

    @Test
    void flagOverridesEnvironment() {
        Invocation.Launch launch = (Invocation.Launch) read("-np 2 --autotune train");
        assertThat(launch.mergedWith(Map.of("HOROVOD_AUTOTUNE", "0", "HOME", "/home/me")))
                .isEqualTo(Map.of("HOROVOD_AUTOTUNE", "1", "HOME", "/home/me"));
    }

    @ParameterizedTest
    @CsvSource({
        "--fusion-threshold-mb 32, HOROVOD_FUSION_THRESHOLD, 33554432",
        "--fusion-threshold-mb 0.5, HOROVOD_FUSION_THRESHOLD, 524288",
        "--fusion-threshold-mb 0, HOROVOD_FUSION_THRESHOLD, 0",
        "--cycle-time-ms 2.5, HOROVOD_CYCLE_TIME, 2.5",
        "--cache-capacity 512, HOROVOD_CACHE_CAPACITY, 512",
        "--autotune, HOROVOD_AUTOTUNE, 1",
        "--no-autotune, HOROVOD_AUTOTUNE, 0",
        "--timeline-filename t.json, HOROVOD_TIMELINE, t.json",
        "--timeline-mark-cycles, HOROVOD_TIMELINE_MARK_CYCLES, 1",
        "--no-timeline-mark-cycles, HOROVOD_TIMELINE_MARK_CYCLES, 0",
        "--no-stall-check, HOROVOD_STALL_CHECK_DISABLE, 1",
        "--stall-check, HOROVOD_STALL_CHECK_DISABLE, 0",
        "--stall-check-warning-time-seconds 10, HOROVOD_STALL_CHECK_TIME_SECONDS, 10",
        "--stall-check-shutdown-time-seconds 20, HOROVOD_STALL_SHUTDOWN_TIME_SECONDS, 20",
        "--log-level INFO, HOROVOD_LOG_LEVEL, info",
        "--log-with-timestamp, HOROVOD_LOG_HIDE_TIME, 0",
        "--log-without-timestamp, HOROVOD_LOG_HIDE_TIME, 1",
        "--log-hide-timestamp, HOROVOD_LOG_HIDE_TIME, 1",
        "--no-log-hide-timestamp, HOROVOD_LOG_HIDE_TIME, 0",
        "--bind-to core, HOROVOD_BIND_TO, core",
        "'--thread-affinity 0,8', HOROVOD_THREAD_AFFINITY, '0,8'"
    })
    void horovodsFlagsSetHorovodsVariables(String flag, String variable, String value) {
        assertThat(read("-np 1 " + flag + " train"))
                .asInstanceOf(InstanceOfAssertFactories.type(Invocation.Launch.class))
                .satisfies(
                        launch -> {
                            assertThat(launch.options()).isEqualTo(Map.of(variable, value));
                            assertThat(launch.commands()).containsExactly(List.of("train"));
                        });
    }

    @ParameterizedTest
    @CsvSource({
        "--autotune-log-file /tmp/log.csv, HOROVOD_AUTOTUNE_LOG, /tmp/log.csv",
        "--autotune-warmup-samples 1, HOROVOD_AUTOTUNE_WARMUP_SAMPLES, 1",
        "--autotune-steps-per-sample 5, HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE, 5",
        "--autotune-bayes-opt-max-samples 9, HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES, 9",
        "--autotune-gaussian-process-noise 0.2, HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE, 0.2"
    })
    void autotuneSettingsNeedAutotune(String flag, String variable, String value) {
        assertThat(read("-np 1 --autotune " + flag + " train"))
                .asInstanceOf(InstanceOfAssertFactories.type(Invocation.Launch.class))
                .extracting(Invocation.Launch::options)
                .isEqualTo(Map.of("HOROVOD_AUTOTUNE", "1", variable, value));
        assertThat(read("-np 1 " + flag + " train"))
                .asInstanceOf(InstanceOfAssertFactories.type(Invocation.Launch.class))
                .extracting(Invocation.Launch::options)
                .isEqualTo(Map.of());
    }

    @ParameterizedTest
    @CsvSource({
        "--fusion-threshold-mb -1, 'mebibytes, at least 0'",
        "--fusion-threshold-mb 0.3, 'mebibytes, at least 0'",
        "--cycle-time-ms -1, 'milliseconds, at least 0'",
        "--autotune-gaussian-process-noise 1.5, a number from 0 to 1",
        "--timeline-max-bytes 65535, 'at least 64K, or 0'",
        "--log-level loud, '`trace`, `debug`, `info`'",
        "--bind-to socket, '`none`, `core`, `numa`'",
        "--thread-affinity 0-3, 'numbers of processors, separated by commas'"
    })
    void valuesOfFlagsAreChecked(String flag, String allowed) {
        assertThatThrownBy(() -> read("-np 1 " + flag + " train"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(flag.substring(0, flag.indexOf(' ')) + " is '")
                .hasMessageContaining(allowed);
    }

    @Test
    void contradictoryFlagsAreRejected() {
        assertThatThrownBy(() -> read("-np 1 --no-stall-check --stall-check train"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("--no-stall-check and --stall-check set the same option");
    }

    @Test
    void invalidOptionValueIsRejected() {
        assertThatThrownBy(() -> read("-np 2 --transport pigeon train"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContainingAll("--transport", "pigeon", "auto", "tcp");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"train -np 3 --verbose", "train -- x", "train @file -H", "train --help"})
    void argumentsAfterProgramBelongToProgram(String command) {
        for (String before : List.of("-np 1 ", "-np 1 -- ")) {
            assertThat(read(before + command))
                    .asInstanceOf(InstanceOfAssertFactories.type(Invocation.Launch.class))
                    .extracting(it -> it.commands().getFirst())
                    .isEqualTo(List.of(command.split(" ")));
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''                 | -np is missing",
                "train              | -np is missing",
                "-np 0 train        | -np: '0' is not a number",
                "-np x train        | -np: 'x' is not a number",
                "-np -1 train       | -np: '-1' is not a number",
                "-np 9999999 train  | -np: '9999999' is not a number",
                "-np                | -np needs a value",
                "-np 2              | no command to run",
                "-np 2 --           | no command to run",
                "-np 2 -H a: train  | -H: 'a:' in 'a:' is not a host",
                "--min-np 2 -H a train | 2 processes do not fit: the hosts have 1 slot in all (a:1)",
                "-np 2 --verbos x   | Did you mean --verbose?",
                "-np 2 --host a:1 x | Did you mean --hosts?",
                "-np 2 --zebra x    | unknown option '--zebra'",
                "-np 2 -hostfle f x | Did you mean -hostfile?",
                "-np 2 -H a:0 train | host 'a' has no slots",
                "-np 2 -H a:1 --hostfile f x | -H and --hostfile set the same option",
                "-np 2 --hostfile none.txt x | host file 'none.txt' cannot be read: there is no such file (current folder",
                "-np 2 -p 0 x       | -p: '0' is not a port",
                "-np 2 -p 70000 x   | -p: '70000' is not a port",
                "-np 2 -i none x    | -i: there is no readable file 'none'",
                "-np 2 --copy none.jar x | --copy: there is no readable file or folder 'none.jar'",
                "-np 2 --output-filename pom.xml x | --output-filename: 'pom.xml' is a file",
                "-np 2 --network-interfaces eth0, x | a name is empty",
                "-np 2 --mpi --gloo x | --gloo and --mpi set the same option",
                "-np 2 --jsrun x    | LSF and its jsrun are not supported",
                "-np 2 --mpi --mpi-args=\"a x | the quote \" is not closed",
                "-np 2 --min-np 0 x | --min-np: '0' is not a number from 1",
                "-np 2 --min-np 3 x | -np is 2, but --min-np and --max-np allow 3 to 3",
                "-np 2 --min-np 1 --max-np 1 x | -np is 2, but --min-np and --max-np allow 1 to 1",
                "--min-np 3 --max-np 2 -np 2 x | --min-np is 3, which is more than --max-np, 2",
                "-np 3 --min-np 1 -H localhost:2 x | 3 processes do not fit",
                "-np 2 --min-np 1 --reset-limit -1 x | --reset-limit: '-1' is not a number from 0",
                "-np 2 --min-np 1 --blacklist-cooldown-range 1 x y | --blacklist-cooldown-range: 'x' is not a number of seconds. Give two from 1 to 3600, as in --blacklist-cooldown-range 10 300.",
                "-np 2 --min-np 1 --blacklist-cooldown-range 0 9 x | from 0 to 9 seconds is not a valid range. Give two numbers from 1 to 3600",
                "-np 2 --min-np 1 --blacklist-cooldown-range 20 10 x | from 20 to 10 seconds is not a valid range",
                "-np 2 --min-np 3 --host-discovery-script s x | allow 3 or more",
                "-np 2 --host-discovery-script s --slots-per-host 0 x | --slots-per-host: '0'",
                "-np 2 --host-discovery-script s -H a:2 x | -H and --host-discovery-script set the same option",
                "-np 2 --min-np 1 --mpi x | --mpi cannot run an elastic job",
                "-np 2 --min-np 1 --elastic-timeout 0 x | --elastic-timeout is '0'",
                "-np 2 --config-file none.yml x | none.yml' cannot be read",
                "--job none.yml     | none.yml' cannot be read",
                "--completion fish  | fish' is not a shell that horovodrun can complete for",
            })
    void invalidCommandLineIsReported(String line, String message) {
        assertThatThrownBy(() -> read(line))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(message);
    }

    @Test
    void minProcessesMakesJobElastic() {
        assertThat(launched("-np 4 --min-np 2 -H a:2,b:4 x").elasticity())
                .contains(
                        new Elasticity(
                                new ElasticLimits(4, 2, 4, ElasticLimits.UNLIMITED),
                                Cooldown.DEFAULT,
                                null,
                                null,
                                Login.DEFAULT));
        assertThat(launched("-np 4 -H a:2,b:4 x").elasticity()).isEmpty();
        assertThat(launched("--min-num-proc 2 x").processes()).isEqualTo(2);
    }

    @Test
    void discoveryScriptMakesJobElastic() {
        Invocation.Launch launch =
                launched(
                        "-np 2 --host-discovery-script ./h.sh --slots-per-host 3 --max-num-proc 9"
                                + " --reset-limit 0 --blacklist-cooldown-range 1 20 -p 2222"
                                + " --elastic-timeout 30 x");
        assertThat(launch.elasticity())
                .contains(
                        new Elasticity(
                                new ElasticLimits(2, 2, 9, 0),
                                new Cooldown(Duration.ofSeconds(1), Duration.ofSeconds(20)),
                                "./h.sh",
                                3,
                                new Login(null, 2222, null)));
        assertThat(launch.options()).isEqualTo(Map.of("HOROVOD_ELASTIC_TIMEOUT", "30"));
        assertThat(
                        launched("-np 2 --host-discovery-script s x")
                                .elasticity()
                                .orElseThrow()
                                .elasticLimits())
                .isEqualTo(
                        new ElasticLimits(2, 2, ElasticLimits.UNLIMITED, ElasticLimits.UNLIMITED));
    }

    @Test
    void elasticFlagsAloneHaveNoEffect() {
        assertThat(launched("-np 2 --max-np 4 --reset-limit 3 x").elasticity()).isEmpty();
        assertThat(notices)
                .containsExactly(
                        "--max-np has no effect without --min-np or --host-discovery-script.",
                        "--reset-limit has no effect without --min-np or --host-discovery-script.");
    }

    private Invocation.Launch launched(String line) {
        return (Invocation.Launch) read(line);
    }

    @Test
    void hostsTakeUsersAndAddresses() {
        assertThat(launched("-np 2 -H me@a:1,[fd00::7]:4 -p 2222 -i pom.xml x").hosts())
                .containsExactly(
                        new Host("a", 1, new Login("me", 2222, Path.of("pom.xml"))),
                        new Host("fd00::7", 4, new Login(null, 2222, Path.of("pom.xml"))));
    }

    @Test
    void hostLoginOverridesFlags(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("hosts"), "a port=22\nb slots=3\n");
        assertThat(launched("-np 2 -p 2222 -hostfile " + file + " x").hosts())
                .containsExactly(
                        new Host("a", 1, new Login(null, 22, null)),
                        new Host("b", 3, new Login(null, 2222, null)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--network-interfaces eth0,ib0",
                "--network-interface eth0 --network-interface ib0",
                "--network-interfaces eth0 --network-interface ib0,eth0"
            })
    void interfacesAreJoined(String flags) {
        assertThat(launched("-np 1 " + flags + " train").options())
                .isEqualTo(Map.of("HOROVOD_NETWORK_INTERFACES", "eth0,ib0"));
    }

    @Test
    void mpiArgumentsAreSplit() {
        assertThat(
                        ((Invocation.Launch)
                                        reader(Map.of())
                                                .read(
                                                        "-np",
                                                        "2",
                                                        "--mpi",
                                                        "--tcp",
                                                        "--mpi-args=--mca btl 'self, tcp'",
                                                        "--binding-args=--bind-to none",
                                                        "x"))
                                .controller())
                .isEqualTo(
                        new Controller.Mpi(
                                List.of("--mca", "btl", "self, tcp"),
                                List.of("--bind-to", "none"),
                                true));
        assertThat(notices).isEmpty();
    }

    @Test
    void outputAndRemoteFlagsAreParsed() {
        Invocation.Launch launch =
                launched(
                        "-np 1 --output-filename out -prefix-timestamp --java /opt/java --copy pom.xml"
                                + " --copy src x");
        assertThat(launch.outputSettings())
                .isEqualTo(new OutputSettings(false, Path.of("out"), true));
        assertThat(launch.remoteSetup())
                .isEqualTo(
                        new RemoteSetup("/opt/java", List.of(Path.of("pom.xml"), Path.of("src"))));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--hierarchical-allgather   | inside each host first",
                "--torus-allreduce          | HOROVOD_ALLREDUCE_ALGORITHM",
                "--num-nccl-streams 2       | one stream",
                "--mpi-threads-disable      | HOROVOD_TRANSPORT",
                "--gloo-timeout-seconds 60  | HOROVOD_START_TIMEOUT",
                "--disable-cache            | nothing is cached",
                "--tcp                      | no effect without --mpi",
                "--mpi-args=x               | no effect without --mpi",
            })
    void flagsOfHorovodWithoutEffectAreAcceptedAndExplained(String flag, String notice) {
        assertThat(launched("-np 1 " + flag + " train").options()).isEmpty();
        assertThat(notices).singleElement().asString().startsWith(flag.split("[ =]", 2)[0]);
        assertThat(notices.getFirst()).contains("no effect").contains(notice);
    }

    @ParameterizedTest
    @CsvSource({
        "-np 2 --min-np 1 --bind-to core x, no effect in an elastic job",
        "-np 2 --mpi --bind-to numa x, use --binding-args"
    })
    void bindingWithoutEffectIsReported(String line, String notice) {
        launched(line);
        assertThat(notices).singleElement().asString().contains("--bind-to", notice);
    }

    @Test
    void ordinaryLaunchHasNoNotices() {
        read("-np 2 --gloo --autotune --bind-to core train");
        assertThat(notices).isEmpty();
    }

    @Test
    void lsfJobGetsNoticeThatHostsAreIgnored() {
        reader(Map.of("LSB_JOBID", "77")).read("-np", "4", "train");
        assertThat(notices)
                .singleElement()
                .asString()
                .contains("LSF job 77", "all 4 processes", "-H");
        notices.clear();
        reader(Map.of("LSB_JOBID", "77")).read("-np", "4", "-H", "a:4", "train");
        assertThat(notices).isEmpty();
    }

    @Test
    void checkBuildNeedsNothingElse() {
        RemoteSetup setup = new RemoteSetup(null, List.of());
        assertThat(read("--check-build"))
                .isEqualTo(new Invocation.CheckBuild(List.of(), List.of(), setup));
        assertThat(read("-cb -H a,me@b:4 -p 22 java -cp a.jar Train"))
                .isEqualTo(
                        new Invocation.CheckBuild(
                                List.of("java", "-cp", "a.jar", "Train"),
                                List.of(
                                        new Host("a", 1, new Login(null, 22, null)),
                                        new Host("b", 4, new Login("me", 22, null))),
                                setup));
    }

    @Test
    void everydayHelpFitsOneScreen() {
        assertThat(printed("--help"))
                .contains("-np, --num-proc=N", "--hosts", "--log-level", "--help-all")
                .doesNotContain("--reset-limit", "--fusion-threshold-mb");
        assertThat(printed("--help").lines())
                .hasSizeLessThanOrEqualTo(50)
                .allMatch(line -> line.length() <= 80);
    }

    @Test
    void completeHelpIsGrouped() {
        assertThat(printed("--help-all"))
                .contains("Processes and hosts", "Examples", "Exit codes", "-np, --num-proc=N");
        assertThat(printed("--help-all").lines()).allMatch(line -> line.length() <= 80);
        assertThat(printed("--help-all").replaceAll("\\s+", " "))
                .contains("VALUE: seconds, at least 0.1; default 30. Sets HOROVOD_START_TIMEOUT.")
                .contains("VALUE: mebibytes", "trace, debug, info, warning, error, fatal; default");
    }

    @Test
    void versionIsPrinted() {
        assertThat(printed("--version"))
                .matches("horovodrun \\(Horovod4J\\) \\d+\\.\\d+\\.\\d+\\S*, on Java \\S+\\n");
    }

    private String printed(String option) {
        return ((Invocation.Print) read(option)).text();
    }
}
