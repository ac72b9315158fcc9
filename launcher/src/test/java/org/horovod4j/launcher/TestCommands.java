package org.horovod4j.launcher;

import org.horovod4j.runtime.CdsTrainingRun;
import org.horovod4j.testsupport.TestClassArchive;
import org.horovod4j.testsupport.TestJvm;

import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// The commands of launchers and ranks on this machine. The tests start hundreds of them, so both
/// start from class archives.
final class TestCommands {
    /// A script for `sh -c`: rank 3 fails when rank 0 has created the file that is its argument, and the
    /// others wait.
    static final String RANK_3_FAILS =
            """
            echo job=$HOROVOD_JOB_ID
            case $HOROVOD_RANK in
                0) touch "$0" ;;
                3)
                    until [ -e "$0" ]; do sleep 0.02; done
                    echo disk full >&2
                    exit 3 ;;
            esac
            exec sleep 1000""";

    private TestCommands() {}

    /// Loads the classes that most ranks load, to be archived.
    static final class RankTraining {
        private RankTraining() {}

        public static void main(String[] arguments) {
            SumOfRanks.main(arguments);
            CdsTrainingRun.main(arguments);
        }
    }

    /// Made when the first launcher starts.
    private static final class LauncherArchive {
        static final TestClassArchive CLASSES =
                TestClassArchive.of(TestJvm.of(HorovodRun.class, "-np", "1", "true").shortLived());
    }

    /// Made when the first rank starts. Has the options that the launcher adds to a Java program.
    private static final class RankArchive {
        static final TestClassArchive CLASSES =
                TestClassArchive.of(TestJvm.of(RankTraining.class).withVectors().shortLived());
    }

    static TestJvm launcher(String... arguments) {
        return LauncherArchive.CLASSES.apply(TestJvm.of(HorovodRun.class, arguments).shortLived());
    }

    static TestJvm rank(Class<?> program, String... arguments) {
        return RankArchive.CLASSES.apply(TestJvm.of(program, arguments).shortLived());
    }

    /// A program of a folder that is not on the class path of this JVM.
    static TestJvm rank(Path folder, String main) {
        TestJvm jvm =
                RankArchive.CLASSES.apply(new TestJvm(List.of(), "", main, List.of()).shortLived());
        return jvm.onClassPath(jvm.classPath() + File.pathSeparator + folder);
    }

    /// The arguments of a launcher that runs a program on ranks of this machine.
    ///
    /// @param flags of horovodrun, as one line
    static String[] job(String flags, Class<?> program, String... arguments) {
        return Stream.concat(
                        Stream.of(flags.split(" ", -1)), rank(program, arguments).words().stream())
                .toArray(String[]::new);
    }

    /// Processes that run functions, instead of those of [Launcher#processes].
    static Launcher functionRanks(int count) {
        return Launcher.processes(count)
                .classPath(RankArchive.CLASSES.classPath())
                .jvmOptions(
                        Stream.of(
                                        List.of(TestJvm.NO_PERFORMANCE_DATA),
                                        TestJvm.SHORT_LIVED,
                                        RankArchive.CLASSES.options())
                                .flatMap(List::stream)
                                .toList());
    }
}
