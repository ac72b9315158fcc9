package org.horovod4j.spark.data;

import org.horovod4j.Communicator;

import java.io.IOException;
import java.io.Serializable;
import java.util.List;

/// Rows in Parquet files, as a description that travels to the ranks: it has no data.
///
/// @param columns those that can be read
/// @param rowGroups all of them, in the order of the rows
public record StoredRows(List<Column> columns, List<RowGroup> rowGroups) implements Serializable {
    public StoredRows {
        columns = List.copyOf(columns);
        rowGroups = List.copyOf(rowGroups);
    }

    /// A row group of a Parquet file.
    ///
    /// @param file its URI
    /// @param index of the row group in the file, from 0
    public record RowGroup(String file, int index, long rows) implements Serializable {}

    /// How many rows there are in all.
    public long rows() {
        return rowGroups.stream().mapToLong(RowGroup::rows).sum();
    }

    /// Opens the part of this rank.
    public RankReader reader(ReadOptions options, Communicator communicator) throws IOException {
        return new RankReader(this, options, communicator.rank(), communicator.size());
    }
}
