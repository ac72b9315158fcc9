package org.horovod4j.tensorflow.kernel;

import org.horovod4j.option.Environment;
import org.horovod4j.option.GraphKernels;
import org.horovod4j.option.Options;

/// Prints how collectives would run in a process with this class path and environment, and why, for
/// `horovodrun --check-build`, which starts it by its name.
final class KernelCheck {
    private KernelCheck() {}

    public static void main(String[] arguments) {
        GraphKernels option = new Environment(System.getenv()).get(Options.TENSORFLOW_KERNELS);
        KernelChoice choice = OpKernels.register(option).choice();
        boolean isUntested =
                choice.mode() == KernelMode.ASYNC
                        && KernelChoice.isKnownBuild(OpKernels.loadedLibrary());
        IO.println("kernels: " + (isUntested ? withSelfTestResult(choice) : choice.toString()));
    }

    /// With builds of TensorFlow that are known to work, the choice was made without a self-test.
    private static String withSelfTestResult(KernelChoice choice) {
        return choice
                + KernelSelfTest.runInNewProcess()
                        .map(problem -> "; but the self-test failed: " + problem)
                        .orElse("; the self-test passed");
    }
}
