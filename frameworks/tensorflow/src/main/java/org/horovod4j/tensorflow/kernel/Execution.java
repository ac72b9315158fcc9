package org.horovod4j.tensorflow.kernel;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

/// One run of a node. It ends with [#complete] or [#fail], exactly once, on any thread. The tensors
/// are valid until then.
public interface Execution {
    /// The number of inputs.
    int inputCount();

    /// An input. Its memory may be in use elsewhere, unless it is that of [#outputLike]: do not write
    /// to it.
    Tensor input(int index);

    /// Creates output `index` with the type and shape of input `index`. If nothing else uses the
    /// input, both are one tensor, so that the node works in place: then this method returns the
    /// object that [#input] returns. Otherwise the content is undefined. Call it before [#input].
    Tensor outputLike(int index);

    /// Creates an output. Its content is undefined.
    Tensor output(int index, DataType dataType, Shape shape);

    /// Whether the run of the graph has failed at another node, if that is known. TensorFlow ends it when
    /// this node has ended.
    default boolean isCancelled() {
        return false;
    }

    /// Ends the run. All outputs have their content.
    void complete();

    /// Ends the run with an exception, of which the session throws the message.
    void fail(Throwable cause);
}
