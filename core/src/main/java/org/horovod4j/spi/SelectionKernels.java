package org.horovod4j.spi;

import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;

/// The arithmetic of top-k compression on a device, for `float32` and `float64`, with the bits of the
/// CPU.
///
/// Methods launch their work on a stream and return; see [DeviceDriver]. Arguments are addresses of
/// the device, and positions are of type `int32`.
public interface SelectionKernels {
    /// The device memory that [#selectLargest] needs.
    long scratchBytes();

    /// `target = left + right`. `target` may be one of them.
    void add(
            DataType dataType,
            long left,
            long right,
            long target,
            long elementCount,
            DeviceStream stream);

    /// Writes the positions and the values of the `selected` largest magnitudes, in ascending order of
    /// positions; of equal ones the first.
    ///
    /// @param positions memory for `selected` positions
    /// @param picked memory for `selected` values
    /// @param scratch memory of [#scratchBytes], which only this stream uses
    void selectLargest(
            DataType dataType,
            long values,
            int elementCount,
            int selected,
            long positions,
            long picked,
            long scratch,
            DeviceStream stream);

    /// Adds values to those at positions of `target`. The positions of one call differ.
    void addAt(
            DataType dataType,
            long target,
            long positions,
            long values,
            long positionCount,
            DeviceStream stream);

    /// Sets the values at some positions to zero, and those that are infinite or NaN.
    void clear(
            DataType dataType,
            long values,
            long elementCount,
            long positions,
            long positionCount,
            DeviceStream stream);

    void divide(
            DataType dataType, long values, long elementCount, int divisor, DeviceStream stream);
}
