package org.horovod4j.libtorch;

import org.horovod4j.log.Log;
import org.horovod4j.option.HookChoice;
import org.horovod4j.option.Options;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/// Hooks of libtorch on gradients.
///
/// Java code creates C++ objects of libtorch for them. That works only with versions that lay out
/// these objects as expected. So hooks are used with versions that our tests have run with, and only
/// after a self-test in this process.
public final class TorchHooks {
    private static final Logger LOG = Log.of(TorchHooks.class);

    /// The versions of libtorch that our tests have run with.
    private static final List<String> KNOWN_VERSIONS = List.of("2.7.1", "2.10.0");

    private static final String KNOWN_PLATFORM = "Linux amd64";

    private final Autograd autograd;
    private final AccumulationHooks accumulations;
    private final GradientTransforms transforms;

    private TorchHooks(TorchRuntime torch) {
        this.autograd = torch.autograd();
        this.accumulations = new AccumulationHooks(new HookObjects(torch.library()));
        this.transforms =
                new GradientTransforms(
                        torch.tensors(),
                        new FunctionObjects(torch.library()),
                        torch.deferredFailures());
    }

    /// Opens the hooks if they may be used and pass their self-test.
    ///
    /// @param choice the option `HOROVOD_GRADIENT_HOOKS`
    /// @param version the version of libtorch that the binding reports
    /// @param platform the names of operating system and processor that Java reports
    /// @param networks creates the network of the self-test
    /// @throws UnsupportedOperationException when hooks cannot be used; its message is the reason
    public static TorchHooks open(
            TorchRuntime torch,
            HookChoice choice,
            String version,
            String platform,
            TestNetwork.Factory networks) {
        try {
            TorchHooks hooks = open(torch, reason(choice, version, platform), networks);
            LOG.log(Level.INFO, "Hooks on gradients of libtorch {0} are in use", version);
            return hooks;
        } catch (UnsupportedOperationException e) {
            LOG.log(
                    choice == HookChoice.OFF ? Level.INFO : Level.WARNING,
                    "Gradients are exchanged after backward, not during it, because there are no"
                            + " hooks on gradients: {0}",
                    e.getMessage());
            throw e;
        }
    }

    /// Why hooks are not even tested.
    private static Optional<String> reason(HookChoice choice, String version, String platform) {
        if (choice == HookChoice.OFF) {
            return Optional.of("%s switches them off".formatted(Options.GRADIENT_HOOKS));
        }
        if (choice == HookChoice.AUTO && !KNOWN_VERSIONS.contains(version)) {
            return Optional.of(
                    "they are tested with libtorch %s, not with %s; %s=on uses them with any version"
                            .formatted(
                                    String.join(", ", KNOWN_VERSIONS),
                                    version,
                                    Options.GRADIENT_HOOKS));
        }
        return platform.equals(KNOWN_PLATFORM)
                ? Optional.empty()
                : Optional.of("they need %s, but this is %s".formatted(KNOWN_PLATFORM, platform));
    }

    private static TorchHooks open(
            TorchRuntime torch, Optional<String> reasonAgainst, TestNetwork.Factory networks) {
        reasonAgainst.ifPresent(TorchHooks::unsupported);
        try {
            TorchHooks hooks = new TorchHooks(torch);
            new HooksSelfTest(torch.autograd(), hooks)
                    .failure(networks)
                    .ifPresent(failure -> unsupported("their self-test failed: " + failure));
            return hooks;
        } finally {
            torch.deferredFailures().clear(); // failures of the self-test belong to no step
        }
    }

    private static void unsupported(String reason) {
        throw new UnsupportedOperationException(reason);
    }

    /// Calls `hook` each time after backward has accumulated the gradient of a parameter, on the
    /// thread that runs backward. The parameters of the last layer come first. A parameter has one
    /// hook: a second one replaces the first.
    ///
    /// On a GPU, backward runs on a thread of libtorch, and the gradient is only launched: it is
    /// ready when [TorchCuda#currentStream] of that thread has come to this point.
    ///
    /// @param parameter a tensor for which [#requiresGradient] holds
    /// @return the caller keeps it: the hook is removed when it is garbage-collected
    public HookRegistration onGradient(long parameter, Runnable hook) {
        return accumulations.add(parameter, hook);
    }

    /// Lets `change` alter the gradient of an intermediate result before backward uses it. `change`
    /// is called on the thread that runs backward, with a copy of the gradient that it may write to.
    /// It is kept as long as the graph of the computation.
    ///
    /// When it fails, or the gradient cannot be copied, the gradient becomes NaN, and
    /// [TorchRuntime#deferredFailures] has the exception. If the gradient cannot be copied, `change`
    /// is still called, with NaN, since it may be a collective that other ranks wait for.
    ///
    /// @param tensor a tensor for which [#requiresGradient] holds
    /// @param byteSize the bytes of its elements
    public void transformGradient(long tensor, long byteSize, Consumer<MemorySegment> change) {
        transforms.add(tensor, byteSize, change);
    }

    /// Whether backward computes a gradient for a tensor.
    public boolean requiresGradient(long tensor) {
        return autograd.requiresGrad(tensor);
    }

    /// The number of transforms that libtorch holds, for tests.
    public int transformCount() {
        return transforms.size();
    }

    /// The network of the self-test, computed by the binding: `sum(weight · factor)` with one weight.
    public interface TestNetwork extends AutoCloseable {
        /// The address of the weight: one 32-bit float that requires a gradient.
        long weight();

        /// Multiplies the weight and returns the address of the product.
        long multiply(float factor);

        /// Adds up the product and returns the address of the sum, which has one element.
        long sum();

        /// The gradient of the weight.
        float gradient();

        /// Frees the tensors.
        @Override
        void close();

        /// Creates the network; called once.
        interface Factory {
            TestNetwork create();
        }
    }
}
