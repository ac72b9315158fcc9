package org.horovod4j.spark.data;

import java.util.List;

/// Rows in memory: one primitive array for each column.
///
/// @param arrays in the order of `columns`
@SuppressWarnings("ArrayRecordComponent") // never compared
record RowBlock(List<Column> columns, Object[] arrays, int rows) {}
