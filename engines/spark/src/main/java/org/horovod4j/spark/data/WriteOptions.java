package org.horovod4j.spark.data;

import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.horovod4j.ConfigurationException;
import org.jspecify.annotations.Nullable;

import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/// How a [Store] writes the rows of a `Dataset`.
///
/// ```java
/// WriteOptions options = WriteOptions.forRanks(4).withValidation(0.1).withSeed(42);
/// ```
///
/// @param ranks that will read the rows. Others can read them too, and then some row groups are
///     read by two ranks
/// @param validationFraction the share of rows to validate with, 0 to 1; rows are chosen at random, by
///     a hash of their values
/// @param validationColumn a boolean or numeric column, which is true or not 0 in rows to validate
///     with; null if the fraction decides
/// @param seed of that choice, and of the order in which rows are written
/// @param name keeps the files, in a folder of this name, and uses them again; null for files that
///     [Store#remove] deletes
/// @param compression of the files: `snappy`, `zstd`, `gzip`, `lz4_raw` or `uncompressed`
public record WriteOptions(
        int ranks,
        double validationFraction,
        @Nullable String validationColumn,
        long seed,
        @Nullable String name,
        String compression)
        implements Serializable {
    private static final List<CompressionCodecName> CODECS =
            List.of(
                    CompressionCodecName.UNCOMPRESSED,
                    CompressionCodecName.SNAPPY,
                    CompressionCodecName.GZIP,
                    CompressionCodecName.ZSTD,
                    CompressionCodecName.LZ4_RAW);

    public WriteOptions {
        if (ranks < 1) {
            throw new ConfigurationException(
                    "%d ranks: give a number of 1 or more.".formatted(ranks));
        }
        if (!(validationFraction >= 0 && validationFraction < 1)) {
            throw new ConfigurationException(
                    "a validation fraction of %s: give 0 or more, and less than 1."
                            .formatted(validationFraction));
        }
        if (validationFraction > 0 && validationColumn != null) {
            throw new ConfigurationException(
                    "both a fraction and column '%s' choose the rows to validate with: give one."
                            .formatted(validationColumn));
        }
        if (name != null && !name.matches("[A-Za-z0-9][A-Za-z0-9._-]*")) {
            throw new ConfigurationException(
                    "the name '%s' of stored data: use letters, digits, '.', '-' and '_'."
                            .formatted(name));
        }
        codec(compression);
    }

    /// Rows for this many ranks.
    public static WriteOptions forRanks(int ranks) {
        return new WriteOptions(ranks, 0, null, 0, null, "snappy");
    }

    /// Sets this share of the rows aside, to validate with.
    public WriteOptions withValidation(double fraction) {
        return new WriteOptions(ranks, fraction, validationColumn, seed, name, compression);
    }

    /// Sets the rows aside in which this column is true, or not 0.
    public WriteOptions withValidationColumn(String column) {
        return new WriteOptions(ranks, validationFraction, column, seed, name, compression);
    }

    /// The seed of the order of rows, and of the choice of rows to validate with; 0 by default.
    public WriteOptions withSeed(long value) {
        return new WriteOptions(
                ranks, validationFraction, validationColumn, value, name, compression);
    }

    /// Keeps the files under this name. The next time, they are used without a look at the `Dataset`,
    /// if columns and options are the same: only you know whether its rows are the same too.
    public WriteOptions withName(String folder) {
        return new WriteOptions(
                ranks, validationFraction, validationColumn, seed, folder, compression);
    }

    /// The compression of the files; `snappy` by default.
    public WriteOptions withCompression(String codec) {
        return new WriteOptions(ranks, validationFraction, validationColumn, seed, name, codec);
    }

    CompressionCodecName codec() {
        return codec(compression);
    }

    private static CompressionCodecName codec(String name) {
        return CODECS.stream()
                .filter(codec -> codec.name().equals(name.toUpperCase(Locale.ROOT)))
                .findFirst()
                .orElseThrow(
                        () ->
                                new ConfigurationException(
                                        "the compression '%s' is not known. Use one of %s."
                                                .formatted(
                                                        name,
                                                        Arrays.toString(CODECS.toArray())
                                                                .toLowerCase(Locale.ROOT))));
    }

    boolean hasValidation() {
        return validationColumn != null || validationFraction > 0;
    }
}
