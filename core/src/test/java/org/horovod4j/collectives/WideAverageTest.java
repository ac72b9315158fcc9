package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.spi.FusedTensors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// The memory of the wider copies. `IntegerAverageTest` checks averages.
class WideAverageTest {
    private static final int ROWS = 5;
    private static final List<Shape> SHAPES =
            List.of(Shape.of(ROWS), Shape.of(ROWS, 0), Shape.of(ROWS, 3), Shape.of(ROWS, 200));

    private final Arena arena = Arena.ofShared();
    private final ScratchMemory memory = new ScratchMemory(arena);

    @AfterEach
    void close() {
        memory.close();
        arena.close();
    }

    @Test
    void operationsReuseTheMemory() {
        Set<MemorySegment.Scope> scopes = new HashSet<>();
        for (int rank : new int[] {0, 0, 1, 1}) {
            WideAverage.run(
                    tensors(rank),
                    memory,
                    copies -> {
                        for (int i = 0; i < copies.tensorCount(); i++) {
                            scopes.add(copies.input(i).scope());
                            scopes.add(copies.output(i).scope());
                        }
                    });
        }
        assertThat(scopes).hasSize(1).allMatch(MemorySegment.Scope::isAlive);
    }

    @Test
    void memoryOfTensorsDoesNotOverlap() {
        FusedTensors tensors = tensors(1);
        for (int i = 0; i < tensors.tensorCount(); i++) {
            tensors.input(i).fill((byte) (i + 1));
        }
        WideAverage.run(tensors, memory, FusedTensors::copy);
        for (int i = 0; i < tensors.tensorCount(); i++) {
            byte[] output = tensors.output(i).toArray(ValueLayout.JAVA_BYTE);
            byte[] filled = new byte[output.length];
            Arrays.fill(filled, (byte) (i + 1));
            assertThat(output).isEqualTo(filled);
        }
    }

    /// Tensors of which rank 0 receives three rows, and rank 1 two.
    private FusedTensors tensors(int rank) {
        FusedTensors tensors = FusedTensors.forReducescatter(DataType.INT8, SHAPES, rank, 2);
        for (int i = 0; i < SHAPES.size(); i++) {
            long columns = SHAPES.get(i).rowElements();
            long rows =
                    FusedTensors.firstRow(ROWS, rank + 1, 2) - FusedTensors.firstRow(ROWS, rank, 2);
            tensors.set(i, arena.allocate(ROWS * columns), arena.allocate(rows * columns));
        }
        return tensors;
    }
}
