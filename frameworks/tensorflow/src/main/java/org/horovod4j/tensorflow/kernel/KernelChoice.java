package org.horovod4j.tensorflow.kernel;

import org.horovod4j.option.GraphKernels;
import org.horovod4j.option.Options;

import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/// How collectives run in this process, and why.
///
/// Asynchronous kernels depend on the layout of a C++ object. They are used with the builds of
/// TensorFlow that our tests run with. With another build of such a version, and with any version if
/// the user asks for them, a self-test in a process of its own decides.
record KernelChoice(KernelMode mode, String reason) {
    private static final String KNOWN_PLATFORM = "Linux amd64";

    /// The ELF build IDs of `libtensorflow_framework` that our tests run with, by the version of TensorFlow.
    private static final Map<String, String> KNOWN_BUILDS =
            Map.of("2.18.0", "171083abc7ad035cbf4700ba9158fe84");

    /// A TensorFlow library.
    ///
    /// @param platform the system and the processor that it runs on
    /// @param buildId the ELF build ID; empty if the library has none
    record Library(String version, String platform, Optional<String> buildId) {
        @Override
        public String toString() {
            return "TensorFlow " + version;
        }
    }

    /// @param option the user's choice
    /// @param selfTest runs the self-test and returns why it failed; empty if it passed
    static KernelChoice of(
            GraphKernels option, Library library, Supplier<Optional<String>> selfTest) {
        return switch (option) {
            case FETCH -> new KernelChoice(KernelMode.FETCH, setByOption());
            case BLOCKING -> new KernelChoice(KernelMode.BLOCKING, setByOption());
            case AUTO, ASYNC -> asyncIfSafe(option, library, selfTest);
        };
    }

    private static String setByOption() {
        return "set by " + Options.TENSORFLOW_KERNELS;
    }

    private static KernelChoice asyncIfSafe(
            GraphKernels option, Library library, Supplier<Optional<String>> selfTest) {
        if (!library.platform.equals(KNOWN_PLATFORM)) {
            return blocking(
                    "asynchronous kernels need %s, but this is %s"
                            .formatted(KNOWN_PLATFORM, library.platform));
        }
        if (isKnownBuild(library)) {
            return new KernelChoice(KernelMode.ASYNC, "they are tested with " + library);
        }
        if (option == GraphKernels.AUTO && !KNOWN_BUILDS.containsKey(library.version)) {
            return blocking(
                    "asynchronous kernels are tested with TensorFlow %s, not with %s; %s=async tries them"
                            .formatted(
                                    String.join(", ", KNOWN_BUILDS.keySet()),
                                    library.version,
                                    Options.TENSORFLOW_KERNELS));
        }
        return selfTest.get()
                .map(
                        problem ->
                                blocking(
                                        "the self-test of asynchronous kernels failed: " + problem))
                .orElseGet(
                        () ->
                                new KernelChoice(
                                        KernelMode.ASYNC,
                                        "their self-test passed with this build of " + library));
    }

    /// Whether our tests run with this build.
    static boolean isKnownBuild(Library library) {
        String known = KNOWN_BUILDS.get(library.version);
        return known != null && library.buildId.filter(known::equals).isPresent();
    }

    private static KernelChoice blocking(String reason) {
        return new KernelChoice(KernelMode.BLOCKING, reason);
    }

    /// Whether the mode is not the preferred one.
    boolean isFallback(GraphKernels option) {
        return switch (option) {
            case AUTO, ASYNC -> mode != KernelMode.ASYNC;
            case BLOCKING -> mode != KernelMode.BLOCKING;
            case FETCH -> false;
        };
    }

    @Override
    public String toString() {
        return mode + ": " + reason;
    }
}
