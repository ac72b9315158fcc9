package org.horovod4j.collectives.algorithm;

import org.horovod4j.spi.FusedTensors;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// The elements of a reducescatter, in one *section* for each host: those that the ranks of the host
/// receive, in the order of tensors and ranks.
public final class ScatterSections {
    private final FusedTensors fusedTensors;
    private final List<List<Range>> sections;

    /// Elements of a section that are adjacent in the fused array.
    ///
    /// @param start the first one, in the fused array
    /// @param position the first one, in the section
    private record Range(long start, long count, long position) {
        long end() {
            return position + count;
        }
    }

    private ScatterSections(FusedTensors fusedTensors, List<List<Range>> sections) {
        this.fusedTensors = fusedTensors;
        this.sections = sections;
    }

    /// The sections of tensors whose rows are distributed over the ranks.
    ///
    /// @param hosts the ranks of each host, ascending
    /// @param size the number of ranks on all hosts
    public static ScatterSections of(
            FusedTensors fusedTensors, List<List<Integer>> hosts, int size) {
        List<List<Range>> sections = new ArrayList<>();
        for (List<Integer> ranks : hosts) {
            sections.add(ranges(fusedTensors, ranks, size));
        }
        return new ScatterSections(fusedTensors, sections);
    }

    private static List<Range> ranges(FusedTensors fusedTensors, List<Integer> ranks, int size) {
        List<Range> ranges = new ArrayList<>();
        long position = 0;
        for (int tensor = 0; tensor < fusedTensors.tensorCount(); tensor++) {
            for (int rank : ranks) {
                long start = fusedTensors.scatterStart(tensor, rank, size);
                long count = fusedTensors.scatterStart(tensor, rank + 1, size) - start;
                append(ranges, new Range(start, count, position));
                position += count;
            }
        }
        return ranges;
    }

    private static void append(List<Range> ranges, Range next) {
        Range last = ranges.isEmpty() ? null : ranges.getLast();
        if (last != null && last.start + last.count == next.start) {
            ranges.set(
                    ranges.size() - 1,
                    new Range(last.start, last.count + next.count, last.position));
        } else if (next.count > 0) {
            ranges.add(next);
        }
    }

    /// The number of sections.
    int count() {
        return sections.size();
    }

    /// The number of elements that the ranks of a host receive.
    long elementCount(int host) {
        List<Range> ranges = sections.get(host);
        return ranges.isEmpty() ? 0 : ranges.getLast().end();
    }

    /// The number of elements in the largest section.
    long maxElementCount() {
        long most = 0;
        for (int host = 0; host < sections.size(); host++) {
            most = Math.max(most, elementCount(host));
        }
        return most;
    }

    /// Copies elements of a section to `target`.
    void pack(int host, long first, long count, MemorySegment target, long offset) {
        int byteSize = fusedTensors.dataType().byteSize();
        for (Range range : sections.get(host)) {
            long from = Math.max(first, range.position);
            long to = Math.min(first + count, range.end());
            if (from < to) {
                fusedTensors.pack(
                        range.start + from - range.position,
                        to - from,
                        target,
                        offset + (from - first) * byteSize);
            }
        }
    }

    /// Copies elements of a section to the outputs of this rank. Those of other ranks are skipped.
    void unpack(int host, MemorySegment source, long offset, long first, long count) {
        int byteSize = fusedTensors.dataType().byteSize();
        for (Range range : sections.get(host)) {
            long from = Math.max(first, range.position);
            long to = Math.min(first + count, range.end());
            if (from < to) {
                fusedTensors.unpack(
                        source,
                        offset + (from - first) * byteSize,
                        range.start + from - range.position,
                        to - from);
            }
        }
    }
}
