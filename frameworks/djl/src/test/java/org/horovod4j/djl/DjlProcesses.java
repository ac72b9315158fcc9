package org.horovod4j.djl;

import org.horovod4j.Hvd;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.runtime.CdsTrainingRun;
import org.horovod4j.testsupport.TestClassArchive;
import org.horovod4j.testsupport.TestJvm;

import java.util.List;
import java.util.stream.Stream;

/// The processes of DJL programs. The tests start about a hundred of them, so they start from a class
/// archive.
public final class DjlProcesses {
    private DjlProcesses() {}

    /// Loads the classes that most ranks load, to be archived.
    static final class ArchiveTraining {
        private ArchiveTraining() {}

        public static void main(String[] arguments) {
            Hvd.init();
            try (TestTraining training =
                    new TestTraining(
                            TestTraining.network(),
                            block -> DistributedOptimizer.wrap(TestTraining.sgd(), block).build(),
                            TestTraining.INPUT)) {
                training.pass(0, 4);
                training.trainer.step();
            }
            Hvd.shutdown();
            CdsTrainingRun.main(arguments);
        }
    }

    /// Made when the first process starts.
    private static final class Archive {
        static final TestClassArchive CLASSES =
                TestClassArchive.of(TestJvm.of(ArchiveTraining.class).withVectors().shortLived());
    }

    /// Processes that run functions.
    ///
    /// @param moreOptions of their JVMs
    public static Launcher launcher(int count, String... moreOptions) {
        List<String> options =
                Stream.of(TestJvm.SHORT_LIVED, Archive.CLASSES.options(), List.of(moreOptions))
                        .flatMap(List::stream)
                        .toList();
        return Launcher.processes(count).classPath(Archive.CLASSES.classPath()).jvmOptions(options);
    }

    /// The command of a rank of `horovodrun`.
    public static TestJvm rank(Class<?> program, String... arguments) {
        return Archive.CLASSES.apply(TestJvm.of(program, arguments).shortLived());
    }
}
