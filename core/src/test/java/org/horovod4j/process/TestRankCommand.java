package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.runtime.CdsTrainingRun;
import org.horovod4j.testing.World;
import org.horovod4j.testing.World.Transport;
import org.horovod4j.testsupport.TestClassArchive;
import org.horovod4j.testsupport.TestJvm;

import java.util.List;

/// The command of the JVM of a rank.
///
/// The tests start hundreds of ranks and up to sixteen at once. So a rank starts from a class
/// archive, gets little memory, and has one thread for garbage collection.
final class TestRankCommand {
    private TestRankCommand() {}

    /// Loads the classes that most ranks load, to be archived: those of collectives, of assertions,
    /// and of the rendezvous.
    static final class ArchiveTraining {
        private ArchiveTraining() {}

        public static void main(String[] args) {
            Hvd.init();
            Hvd.shutdown();
            for (Transport transport : List.of(Transport.SHM, Transport.TCP)) {
                World.of(2).via(transport).run(comm -> new AllCollectives(comm).run());
            }
            assertThat(List.of(1)).containsExactly(1);
            assertThatThrownBy(() -> Hvd.allreduce("early", new float[1], ReduceOp.SUM))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("init");
            CdsTrainingRun.main(args);
        }
    }

    /// Made when the first rank starts.
    private static final class Archive {
        static final TestClassArchive OF_RANKS =
                TestClassArchive.of(withFlags(TestJvm.of(ArchiveTraining.class)));
    }

    /// @param prefix a command that runs the command that follows its own arguments
    static List<String> of(List<String> prefix, Class<?> program, List<String> arguments) {
        return command(prefix, program, arguments, "-XX:TieredStopAtLevel=1");
    }

    /// With the compiler that vectors need. It compiles late: with its usual thresholds, it takes a
    /// third of the processor time of these ranks.
    static List<String> compiledFully(
            List<String> prefix, Class<?> program, List<String> arguments) {
        return command(
                prefix,
                program,
                arguments,
                "-XX:Tier4InvocationThreshold=50000",
                "-XX:Tier4MinInvocationThreshold=5000",
                "-XX:Tier4CompileThreshold=150000",
                "-XX:Tier4BackEdgeThreshold=400000");
    }

    private static List<String> command(
            List<String> prefix, Class<?> program, List<String> arguments, String... flags) {
        TestJvm jvm = withFlags(TestJvm.of(program, arguments.toArray(String[]::new))).with(flags);
        return Archive.OF_RANKS.apply(jvm).words(prefix);
    }

    private static TestJvm withFlags(TestJvm jvm) {
        return jvm.withVectors().with("-XX:+UseSerialGC", "-Xmx256m");
    }
}
