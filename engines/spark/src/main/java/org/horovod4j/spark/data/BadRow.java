package org.horovod4j.spark.data;

import org.horovod4j.ConfigurationException;

/// The message about a value that a [Column] cannot have.
final class BadRow {
    private BadRow() {}

    static ConfigurationException of(Column column, String what, String row) {
        return new ConfigurationException(
                "column '%s' (%s%s) has %s in %s. Remove or replace such rows, for example with na().drop() or filter()."
                        .formatted(
                                column.name(),
                                column.type(),
                                column.isVector() ? "[" + column.length() + "]" : "",
                                what,
                                row));
    }
}
