package org.horovod4j.runtime.timeline;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.jspecify.annotations.Nullable;

import java.util.List;

/// One run of a batch: a collective of the backend, with all tensors that are fused in it.
///
/// @param op in capitals, as in `ALLREDUCE`
/// @param dataType null without elements, as in a barrier
/// @param shapes one for each tensor, or none at all
/// @param locked whether it runs by a locked plan, without negotiation
public record Collective(
        String op,
        int processSet,
        List<String> tensors,
        @Nullable DataType dataType,
        List<Shape> shapes,
        long byteSize,
        boolean locked) {

    public Collective {
        tensors = List.copyOf(tensors);
        shapes = List.copyOf(shapes);
        if (!shapes.isEmpty() && shapes.size() != tensors.size()) {
            throw new IllegalArgumentException(
                    "%s of %s: %d tensors, but %d shapes"
                            .formatted(op, tensors, tensors.size(), shapes.size()));
        }
    }
}
