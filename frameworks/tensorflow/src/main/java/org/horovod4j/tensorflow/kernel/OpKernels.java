package org.horovod4j.tensorflow.kernel;

import org.horovod4j.log.Log;
import org.horovod4j.option.GraphKernels;
import org.jspecify.annotations.Nullable;
import org.tensorflow.TensorFlow;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Optional;

/// How collectives run in the graphs of this process. TensorFlow has one registry of ops per process,
/// so this object is static.
public final class OpKernels {
    private static final Logger LOG = Log.of(OpKernels.class);
    private static @Nullable OpKernels registered;

    private final KernelChoice choice;
    private final NodeFunctions functions;

    private OpKernels(KernelChoice choice, NodeFunctions functions) {
        this.choice = choice;
        this.functions = functions;
    }

    /// Registers our ops in TensorFlow, with the default choice of kernels. The first call does it;
    /// later calls return at once.
    static OpKernels get() {
        return register(GraphKernels.AUTO);
    }

    /// Registers our ops in TensorFlow, once per process: later calls change nothing.
    ///
    /// @param option how collectives run
    public static synchronized OpKernels register(GraphKernels option) {
        OpKernels before = registered;
        if (before != null) {
            return before;
        }
        KernelChoice.Library library = loadedLibrary();
        OpKernels kernels =
                register(
                        KernelChoice.of(option, library, KernelSelfTest::runInNewProcess), library);
        LOG.log(
                kernels.choice.isFallback(option) ? Level.WARNING : Level.INFO,
                "Collectives in graphs: {0}",
                kernels.choice);
        return kernels;
    }

    static KernelChoice.Library loadedLibrary() {
        return new KernelChoice.Library(
                TensorFlow.version(), // loads the library
                System.getProperty("os.name") + " " + System.getProperty("os.arch"),
                CodeRegions.ofTensorFlow().buildId(LibTensorFlow.NAME));
    }

    /// Registers our ops as `wanted` says, or, if that is not possible, in a way that needs less of
    /// TensorFlow.
    static synchronized OpKernels register(KernelChoice wanted, KernelChoice.Library library) {
        boolean isKnownBuild = KernelChoice.isKnownBuild(library);
        NodeFunctions functions = new NodeFunctions();
        KernelChoice choice = wanted;
        while (choice.mode() != KernelMode.FETCH) {
            Optional<String> problem = tryRegister(choice.mode(), functions, isKnownBuild);
            if (problem.isEmpty()) {
                break;
            }
            choice =
                    new KernelChoice(
                            choice.mode() == KernelMode.ASYNC
                                    ? KernelMode.BLOCKING
                                    : KernelMode.FETCH,
                            "%s cannot be registered: %s".formatted(choice.mode(), problem.get()));
        }
        OpKernels kernels = new OpKernels(choice, functions);
        registered = kernels;
        return kernels;
    }

    /// @return why it is not possible
    private static Optional<String> tryRegister(
            KernelMode mode, NodeFunctions functions, boolean isKnownBuild) {
        try {
            new KernelCallbacks(new LibTensorFlow(), functions, isKnownBuild).register(mode);
            return Optional.empty();
        } catch (UnsupportedOperationException | IllegalStateException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /// The object of this process; empty if no graph has used a collective.
    static synchronized Optional<OpKernels> ifRegistered() {
        return Optional.ofNullable(registered);
    }

    /// How many threads of TensorFlow the collectives of one graph can block at the same time. If there are
    /// several graphs, it is the largest number.
    public static int blockedThreads() {
        return ifRegistered().map(kernels -> kernels.functions.blocking()).orElse(0);
    }

    /// How collectives run in this process, and why.
    KernelChoice choice() {
        return choice;
    }

    /// How collectives run in this process.
    public KernelMode mode() {
        return choice.mode();
    }

    /// The mode and its reason, for messages.
    public static String describe() {
        return get().choice.toString();
    }

    /// The functions of nodes.
    NodeFunctions functions() {
        return functions;
    }
}
