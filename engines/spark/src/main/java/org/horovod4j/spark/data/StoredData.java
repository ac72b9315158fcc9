package org.horovod4j.spark.data;

import java.io.Serializable;
import java.util.List;

/// Training data in Parquet files, as a description that travels to the ranks: it has no data.
///
/// @param folder of the files
/// @param training the rows to train with
/// @param validation the rows to validate with; without row groups if none were asked for
/// @param isTemporary whether [Store#remove] deletes the files: the store wrote them, without a name
public record StoredData(
        String folder, StoredRows training, StoredRows validation, boolean isTemporary)
        implements Serializable {
    /// The columns that the data have.
    public List<Column> columns() {
        return training.columns();
    }
}
