package org.horovod4j.compression;

import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;

import java.util.Optional;

/// The compressors without state: one instance serves all tensors and communicators.
///
/// `float32` and `float64` are sent as a smaller type and converted back. All other types are reduced
/// as they are.
public enum Compression implements Compressor {
    /// Sends tensors as they are.
    NONE {
        @Override
        public Optional<DataType> wireType(DataType dataType) {
            return Optional.of(dataType);
        }

        @Override
        public Handle<Tensor> allreduceAsync(
                Communicator communicator, String name, Tensor tensor, ReduceOp op) {
            return communicator.allreduceAsync(name, tensor, op);
        }
    },

    /// Sends floats as `float16`: 11 significant bits, values up to 65504. A larger sum is infinite on
    /// every rank, so the loss scaler of every rank sees it.
    FP16 {
        @Override
        public Optional<DataType> wireType(DataType dataType) {
            return Optional.of(isCompressible(dataType) ? DataType.FLOAT16 : dataType);
        }

        @Override
        public Handle<Tensor> allreduceAsync(
                Communicator communicator, String name, Tensor tensor, ReduceOp op) {
            return CastAllreduce.allreduceAsync(communicator, name, tensor, op, this);
        }
    },

    /// Sends floats as `bfloat16`: 8 significant bits and the range of `float32`.
    BF16 {
        @Override
        public Optional<DataType> wireType(DataType dataType) {
            return Optional.of(isCompressible(dataType) ? DataType.BFLOAT16 : dataType);
        }

        @Override
        public Handle<Tensor> allreduceAsync(
                Communicator communicator, String name, Tensor tensor, ReduceOp op) {
            return CastAllreduce.allreduceAsync(communicator, name, tensor, op, this);
        }
    };

    /// Whether values of this type are sent smaller: `float16` and `bfloat16` are small already, and
    /// integers must stay exact.
    static boolean isCompressible(DataType dataType) {
        return dataType == DataType.FLOAT32 || dataType == DataType.FLOAT64;
    }
}
