package org.horovod4j.djl.engine;

/// What there is of libtorch in a process, of which there is one.
///
/// @param deferredFailures of functions on gradients, which cannot tell backward's caller
record TorchRuntime(
        LibTorch library,
        Autograd autograd,
        TorchTensors tensors,
        DeferredFailures deferredFailures) {
    /// @throws UnsupportedOperationException when it is not loaded, or lacks a function
    static TorchRuntime find() {
        LibTorch library = LibTorch.find();
        Autograd autograd = new Autograd(library);
        return new TorchRuntime(
                library, autograd, new TorchTensors(library, autograd), new DeferredFailures());
    }
}
