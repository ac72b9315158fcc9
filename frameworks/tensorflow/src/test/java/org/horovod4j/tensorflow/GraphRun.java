package org.horovod4j.tensorflow;

import org.horovod4j.Communicator;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.Tensor;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.ndarray.buffer.FloatDataBuffer;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;

import java.util.ArrayList;
import java.util.List;

/// A graph and its session.
final class GraphRun implements AutoCloseable {
    final Graph graph = new Graph();
    final Ops tf = Ops.create(graph);
    final Communicator comm;
    final HvdOps hvd;
    private final Session session = new Session(graph);

    GraphRun(Communicator comm) {
        this.comm = comm;
        hvd = HvdOps.create(tf, comm);
    }

    Session session() {
        return session;
    }

    /// Runs the graph for some float tensors.
    List<float[]> floats(Operand<?>... outputs) {
        Session.Runner runner = session.runner();
        for (Operand<?> output : outputs) {
            runner.fetch(output);
        }
        List<float[]> values = new ArrayList<>();
        try (Result result = runner.run()) {
            for (var each : result) {
                values.add(floats(each.getValue()));
            }
        }
        return values;
    }

    static float[] floats(Tensor tensor) {
        TFloat32 floats = (TFloat32) tensor;
        float[] values = new float[(int) floats.shape().size()];
        FloatDataBuffer buffer = DataBuffers.of(values, false, false);
        floats.copyTo(buffer);
        return values;
    }

    int[] ints(Operand<TInt32> output) {
        try (Result result = session.runner().fetch(output).run()) {
            TInt32 ints = (TInt32) result.get(0);
            int[] values = new int[(int) ints.shape().size()];
            ints.copyTo(DataBuffers.of(values, false, false));
            return values;
        }
    }

    @Override
    public void close() {
        session.close();
        graph.close();
    }
}
