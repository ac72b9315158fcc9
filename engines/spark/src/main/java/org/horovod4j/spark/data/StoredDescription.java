package org.horovod4j.spark.data;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.spark.data.StoredRows.RowGroup;
import org.jspecify.annotations.Nullable;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.util.ArrayList;
import java.util.List;

/// The file in a folder of kept data that says what they are. It is written last, so a folder
/// without it is of a write that failed. It gets its name after it is complete.
///
/// Lines of fields with tabs between them: first what was asked for, then columns and row groups, and
/// at last `end`.
final class StoredDescription {
    private static final String FILE = "_horovod4j-data";
    private static final String PARTIAL = FILE + ".partial";
    private static final String COLUMN = "column";
    private static final String TRAINING = "training";
    private static final String VALIDATION = "validation";
    private static final String END = "end";

    private final FileSystem files;
    private final Path folder;

    StoredDescription(FileSystem files, Path folder) {
        this.files = files;
        this.folder = folder;
    }

    void write(StoredData data, List<ColumnRequest> columns, WriteOptions options)
            throws IOException {
        Path file = new Path(folder, FILE);
        Path partial = new Path(folder, PARTIAL);
        try (BufferedWriter out =
                new BufferedWriter(new OutputStreamWriter(files.create(partial, true), UTF_8))) {
            line(out, request(columns, options));
            for (Column column : data.columns()) {
                line(
                        out,
                        COLUMN,
                        column.name(),
                        column.type().name(),
                        column.length(),
                        column.isVector());
            }
            for (RowGroup group : data.training().rowGroups()) {
                line(out, TRAINING, name(group), group.index(), group.rows());
            }
            for (RowGroup group : data.validation().rowGroups()) {
                line(out, VALIDATION, name(group), group.index(), group.rows());
            }
            line(out, END);
        }
        files.delete(file, false); // not all file systems replace a file by a rename
        if (!files.rename(partial, file)) {
            throw new IOException("cannot rename %s to %s".formatted(partial, file));
        }
    }

    private static String name(RowGroup group) {
        return new Path(group.file()).getName();
    }

    private static void line(BufferedWriter out, Object... fields) throws IOException {
        List<String> texts = new ArrayList<>();
        for (Object field : fields) {
            texts.add(field.toString());
        }
        out.write(String.join("\t", texts));
        out.write('\n');
    }

    /// What decides which values are in the files, and how they are divided.
    private static String request(List<ColumnRequest> columns, WriteOptions options) {
        return "horovod4j data 1: columns %s, validation %s, seed %d"
                .formatted(
                        columns.stream()
                                .map(
                                        it ->
                                                it.type() == null
                                                        ? it.name()
                                                        : it.name() + ":" + it.type())
                                .toList(),
                        options.validationColumn() == null
                                ? options.validationFraction()
                                : options.validationColumn(),
                        options.seed());
    }

    /// The data that are there; null if there are none.
    ///
    /// @throws ConfigurationException if they were written with other columns or options, or the file
    ///     is not complete
    @Nullable StoredData read(List<ColumnRequest> columns, WriteOptions options)
            throws IOException {
        Path file = new Path(folder, FILE);
        if (!files.exists(file)) {
            return null;
        }
        List<Column> found = new ArrayList<>();
        List<RowGroup> training = new ArrayList<>();
        List<RowGroup> validation = new ArrayList<>();
        try (BufferedReader in =
                new BufferedReader(new InputStreamReader(files.open(file), UTF_8))) {
            String first = in.readLine();
            if (!request(columns, options).equals(first)) {
                throw new ConfigurationException(
                        """
                        %s has data with other columns or options:
                          there: %s
                          asked: %s
                        Use another name, or remove them by Store.remove(name)."""
                                .formatted(folder, first, request(columns, options)));
            }
            for (String line = in.readLine(); !END.equals(line); line = in.readLine()) {
                if (line == null) {
                    throw damaged(file, "its last line is missing");
                }
                String[] fields = line.split("\t", -1);
                switch (fields[0]) {
                    case COLUMN ->
                            found.add(
                                    new Column(
                                            fields[1],
                                            DataType.valueOf(fields[2]),
                                            Integer.parseInt(fields[3]),
                                            Boolean.parseBoolean(fields[4])));
                    case TRAINING -> training.add(group(fields));
                    case VALIDATION -> validation.add(group(fields));
                    default -> throw damaged(file, line);
                }
            }
        } catch (IndexOutOfBoundsException | IllegalArgumentException e) {
            throw damaged(file, e.toString());
        }
        return new StoredData(
                folder.toString(),
                new StoredRows(found, training),
                new StoredRows(found, validation),
                false);
    }

    private static ConfigurationException damaged(Path file, String what) {
        return new ConfigurationException(
                "%s is damaged, or of another version: %s. Remove the data by Store.remove(name)."
                        .formatted(file, what));
    }

    private RowGroup group(String[] fields) {
        return new RowGroup(
                new Path(folder, fields[1]).toString(),
                Integer.parseInt(fields[2]),
                Long.parseLong(fields[3]));
    }
}
