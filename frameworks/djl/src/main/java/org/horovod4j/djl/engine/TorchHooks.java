package org.horovod4j.djl.engine;

import ai.djl.ndarray.NDArray;

import org.horovod4j.log.Log;
import org.horovod4j.option.HookChoice;
import org.horovod4j.option.Options;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.function.Consumer;

/// The hooks of libtorch. Its own C++ objects are made in Java for them, which works with versions
/// that lay these out as expected; so they are used where they were tried, and tested once at the
/// start even there.
final class TorchHooks implements BackwardHooks.Available {
    private static final Logger LOG = Log.of(TorchHooks.class);

    /// The versions of libtorch that our tests have run with.
    private static final Set<String> KNOWN_VERSIONS = Set.of("2.7.1");

    private static final String KNOWN_PLATFORM = "Linux amd64";

    private final Autograd autograd;
    private final AccumulationHooks accumulations;
    private final GradientTransforms functions;

    private TorchHooks(TorchRuntime torchRuntime) {
        this.autograd = torchRuntime.autograd();
        this.accumulations = new AccumulationHooks(new HookObjects(torchRuntime.library()));
        this.functions =
                new GradientTransforms(
                        torchRuntime.tensors(),
                        new FunctionObjects(torchRuntime.library()),
                        torchRuntime.deferredFailures());
    }

    /// Opens the hooks, if they may be used here and pass their test.
    ///
    /// @param version of libtorch, as DJL tells it
    /// @param platform operating system and processor, as Java tells them
    static BackwardHooks open(
            TorchRuntime torchRuntime, HookChoice choice, String version, String platform) {
        BackwardHooks backwardHooks =
                switch (choice) {
                    case OFF ->
                            new Unavailable(
                                    "%s switches them off".formatted(Options.GRADIENT_HOOKS));
                    case AUTO ->
                            KNOWN_VERSIONS.contains(version)
                                    ? test(torchRuntime, platform)
                                    : new Unavailable(
                                            "they are not known to work with libtorch %s, but with %s; %s=on tries them"
                                                    .formatted(
                                                            version,
                                                            String.join(", ", KNOWN_VERSIONS),
                                                            Options.GRADIENT_HOOKS));
                    case ON -> test(torchRuntime, platform);
                };
        switch (backwardHooks) {
            case Available available ->
                    LOG.log(Level.INFO, "Hooks on gradients of libtorch {0} are in use", version);
            case Unavailable(String reason) ->
                    LOG.log(
                            choice == HookChoice.OFF ? Level.INFO : Level.WARNING,
                            "Gradients are exchanged after backward, not during it: there are no hooks on"
                                    + " them, since {0}",
                            reason);
        }
        return backwardHooks;
    }

    private static BackwardHooks test(TorchRuntime torchRuntime, String platform) {
        if (!platform.equals(KNOWN_PLATFORM)) {
            return new Unavailable(
                    "they are made for %s, not for %s".formatted(KNOWN_PLATFORM, platform));
        }
        try {
            TorchHooks hooks = new TorchHooks(torchRuntime);
            return new HooksSelfTest(torchRuntime.autograd(), hooks)
                    .failure()
                    .<BackwardHooks>map(failure -> new Unavailable("their test failed: " + failure))
                    .orElse(hooks);
        } catch (UnsupportedOperationException e) {
            return new Unavailable(String.valueOf(e.getMessage()));
        } finally {
            torchRuntime.deferredFailures().clear(); // those of the test are no step's
        }
    }

    @Override
    public HookRegistration onGradient(NDArray parameter, Runnable hook) {
        checkRequiresGradient(parameter);
        return accumulations.add(PyTorchAccess.handle(parameter), hook);
    }

    @Override
    public void transformGradient(NDArray array, Consumer<MemorySegment> change) {
        checkRequiresGradient(array);
        functions.add(PyTorchAccess.handle(array), DataTypes.byteSize(array), change);
    }

    @Override
    public boolean requiresGradient(NDArray array) {
        return autograd.requiresGrad(PyTorchAccess.handle(array));
    }

    private void checkRequiresGradient(NDArray array) {
        if (!requiresGradient(array)) {
            throw new IllegalArgumentException(
                    "the array %s of shape %s requires no gradient, so there is none to hear of"
                            .formatted(array.getName(), array.getShape()));
        }
    }

    /// How many functions on gradients libtorch holds, for tests.
    int functionCount() {
        return functions.size();
    }
}
