package org.horovod4j.launcher;

import org.horovod4j.testsupport.TestClassArchive;
import org.horovod4j.testsupport.TestJvm;

/// The commands of launchers and ranks on this machine. The tests start hundreds of them, so both
/// start from class archives.
final class TestCommands {
    private TestCommands() {}

    /// Made when the first launcher starts.
    private static final class LauncherArchive {
        static final TestClassArchive CLASSES =
                TestClassArchive.of(TestJvm.of(HorovodRun.class, "-np", "1", "true").shortLived());
    }

    /// Made when the first rank starts. Has the options that the launcher adds to a Java program.
    private static final class RankArchive {
        static final TestClassArchive CLASSES =
                TestClassArchive.of(TestJvm.of(SumOfRanks.class).withVectors().shortLived());
    }

    static TestJvm launcher(String... arguments) {
        return LauncherArchive.CLASSES.apply(TestJvm.of(HorovodRun.class, arguments).shortLived());
    }

    static TestJvm rank(Class<?> program, String... arguments) {
        return RankArchive.CLASSES.apply(TestJvm.of(program, arguments).shortLived());
    }
}
