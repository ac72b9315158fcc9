package org.horovod4j.libtorch;

import java.nio.file.Path;

/// The libtorch of this process.
///
/// @param library the loaded library
/// @param autograd recording and backward
/// @param tensors memory of tensors
/// @param deferredFailures exceptions of [TorchHooks#transformGradient], which cannot be thrown
///     through backward
public record TorchRuntime(
        LibTorch library,
        Autograd autograd,
        TorchTensors tensors,
        DeferredFailures deferredFailures) {
    /// Opens the library that a binding has loaded.
    ///
    /// @param nameOrPath the name that the library was built with (`libtorch_cpu.so`), or its path
    /// @throws UnsupportedOperationException when the library cannot be opened or lacks a function
    /// @throws IllegalStateException when the process has loaded another copy of libtorch
    public static TorchRuntime open(String nameOrPath) {
        LoadedCopies.requireOne(String.valueOf(Path.of(nameOrPath).getFileName()));
        LibTorch library = LibTorch.open(nameOrPath);
        Autograd autograd = new Autograd(library);
        return new TorchRuntime(
                library, autograd, new TorchTensors(library, autograd), new DeferredFailures());
    }

    /// For a binding that could not load its libtorch: tells whether another binding is the reason.
    ///
    /// @param name the name that the library was built with (`libtorch_cpu.so`)
    /// @param folder the copies of this binding
    /// @throws IllegalStateException when the process has loaded a libtorch that is not in the folder
    public static void requireNoOther(String name, Path folder) {
        LoadedCopies.requireNoneOutside(name, folder);
    }
}
