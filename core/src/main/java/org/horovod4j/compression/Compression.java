package org.horovod4j.compression;

import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;

/// The compressors that remember nothing: one instance serves all tensors and communicators.
///
/// `float32` and `float64` are sent as something smaller and come back as what they were; all other
/// types are reduced as they are.
public enum Compression implements Compressor {
    /// Sends tensors as they are.
    NONE {
        @Override
        public Handle<Tensor> allreduceAsync(
                Communicator communicator, String name, Tensor tensor, ReduceOp op) {
            return communicator.allreduceAsync(name, tensor, op);
        }
    },

    /// Sends floats as `float16`: 11 significant bits, but nothing above 65504. A sum that exceeds
    /// it is infinite on every rank, so that a loss scaler sees it everywhere.
    FP16 {
        @Override
        public Handle<Tensor> allreduceAsync(
                Communicator communicator, String name, Tensor tensor, ReduceOp op) {
            return CastAllreduce.allreduceAsync(communicator, name, tensor, op, DataType.FLOAT16);
        }
    },

    /// Sends floats as `bfloat16`: 8 significant bits, and all magnitudes that `float32` has.
    BF16 {
        @Override
        public Handle<Tensor> allreduceAsync(
                Communicator communicator, String name, Tensor tensor, ReduceOp op) {
            return CastAllreduce.allreduceAsync(communicator, name, tensor, op, DataType.BFLOAT16);
        }
    };

    /// Whether there is anything to make smaller: `float16` and `bfloat16` are small already, and
    /// integers are exact.
    static boolean isCompressible(DataType dataType) {
        return dataType == DataType.FLOAT32 || dataType == DataType.FLOAT64;
    }
}
