package org.horovod4j.pytorch;

import org.horovod4j.launcher.Launcher;
import org.horovod4j.testsupport.TestJvm;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/// The processes of programs with PyTorch.
public final class TorchProcesses {
    /// JavaCPP uses `sun.misc.Unsafe`.
    public static final List<String> JAVACPP_OPTIONS =
            List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow");

    /// Ranks share the processors of the machine.
    public static final Map<String, String> ONE_THREAD = Map.of("OMP_NUM_THREADS", "1");

    private TorchProcesses() {}

    /// Processes that run functions.
    public static Launcher launcher(int count) {
        return Launcher.processes(count)
                .classPath(TestJvm.CLASS_PATH)
                .environment(ONE_THREAD)
                .jvmOptions(
                        Stream.of(TestJvm.SHORT_LIVED, JAVACPP_OPTIONS)
                                .flatMap(List::stream)
                                .toList());
    }

    /// A network, after libtorch was loaded as a program loads it.
    public static TestNetwork newNetwork() {
        HvdTorch.load();
        return new TestNetwork();
    }
}
