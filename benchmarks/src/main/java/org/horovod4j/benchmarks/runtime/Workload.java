package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Shape;

import java.util.List;
import java.util.stream.IntStream;

/// The tensors that a step reduces. Each workload has a different number of bytes, so the byte size
/// of a result identifies its workload.
enum Workload {
    RESNET("ResNet-50: 161 tensors, 97.5 MiB"),
    TINY("1000 tensors of 1 KiB"),
    ONE("one tensor of 4 B");

    private final String title;

    Workload(String title) {
        this.title = title;
    }

    static Workload of(long byteSize) {
        for (Workload workload : values()) {
            if (workload.byteSize() == byteSize) {
                return workload;
            }
        }
        throw new IllegalArgumentException("no workload has %d bytes".formatted(byteSize));
    }

    String title() {
        return title;
    }

    /// In forward order.
    List<ModelParameter> parameters() {
        return switch (this) {
            case RESNET -> ResNet50.parameters();
            case TINY -> tiny();
            case ONE -> List.of(new ModelParameter("value", Shape.of(1)));
        };
    }

    private static List<ModelParameter> tiny() {
        return IntStream.range(0, 1000)
                .mapToObj(i -> new ModelParameter("tiny." + i, Shape.of(256)))
                .toList();
    }

    /// One tensor with the same number of bytes.
    List<ModelParameter> flat() {
        return List.of(new ModelParameter("flat", Shape.of(elementCount())));
    }

    long byteSize() {
        return elementCount() * Float.BYTES;
    }

    private long elementCount() {
        return parameters().stream()
                .mapToLong(modelParameter -> modelParameter.shape().elementCount())
                .sum();
    }
}
