package org.horovod4j.djl.engine;

/// What there is of libtorch in a process, of which there is one.
///
/// @param failures of functions on gradients, which cannot tell backward's caller
record Torch(LibTorch library, Autograd autograd, TorchTensors tensors, Failures failures) {
    /// @throws UnsupportedOperationException when it is not loaded, or lacks a function
    static Torch find() {
        LibTorch library = LibTorch.find();
        Autograd autograd = new Autograd(library);
        return new Torch(library, autograd, new TorchTensors(library, autograd), new Failures());
    }
}
