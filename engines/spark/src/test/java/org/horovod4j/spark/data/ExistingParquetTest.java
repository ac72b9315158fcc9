package org.horovod4j.spark.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroupFactory;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BiConsumer;

/// Files of other programs, which are used where they are.
@Timeout(60)
class ExistingParquetTest {
    private static final String LISTS =
            """
            message m {
              optional int32 label;
              optional group x (LIST) { repeated group list { optional double element; } }
              required group old (LIST) { repeated int64 array; }
            }""";

    @TempDir Path folder;

    private Path write(String name, String schema, int rows, BiConsumer<Group, Integer> fill)
            throws IOException {
        MessageType type = MessageTypeParser.parseMessageType(schema);
        Path file = folder.resolve(name);
        try (ParquetWriter<Group> writer =
                ExampleParquetWriter.builder(new LocalOutputFile(file))
                        .withType(type)
                        .withRowGroupRowCountLimit(4)
                        .build()) {
            SimpleGroupFactory groups = new SimpleGroupFactory(type);
            for (int row = 0; row < rows; row++) {
                Group group = groups.newGroup();
                fill.accept(group, row);
                writer.write(group);
            }
        }
        return file;
    }

    private static void fill(Group group, int row, int length) {
        group.add("label", row);
        Group list = group.addGroup("x");
        for (int i = 0; i < length; i++) {
            list.addGroup("list").append("element", row + i / 4.0);
        }
        Group old = group.addGroup("old");
        old.add("array", (long) row);
        old.add("array", Long.MAX_VALUE - row);
    }

    private static RowBatch read(StoredData data, int rank, int size) {
        try (RankReader reader =
                        new RankReader(data.training(), ReadOptions.batches(100), rank, size);
                EpochBatches batches = reader.epoch(0)) {
            return batches.next();
        }
    }

    private StoredData use(Path path, ColumnRequest... columns) {
        return Store.at(folder.resolve("store").toUri().toString())
                .use(path.toString(), List.of(columns));
    }

    @Test
    void listsOfBothFormsAreVectors() throws Exception {
        Path file = write("lists", LISTS, 10, (group, row) -> fill(group, row, 3));
        StoredData data =
                use(
                        file,
                        ColumnRequest.of("x", DataType.FLOAT32),
                        ColumnRequest.of("old"),
                        ColumnRequest.of("label", DataType.INT64));

        assertThat(data.isTemporary()).isFalse();
        assertThat(data.training().rows()).isEqualTo(10);
        assertThat(data.training().rowGroups()).hasSize(3);
        assertThat(data.columns())
                .containsExactly(
                        new Column("x", DataType.FLOAT32, 3, true),
                        new Column("old", DataType.INT64, 2, true),
                        new Column("label", DataType.INT64, 1, false));
        RowBatch batch = read(data, 1, 3); // rows 4 to 6
        assertThat(batch.longs("label")).containsExactly(4, 5, 6);
        assertThat(batch.floats("x"))
                .containsExactly(4, 4.25f, 4.5f, 5, 5.25f, 5.5f, 6, 6.25f, 6.5f);
        assertThat(batch.longs("old"))
                .containsExactly(
                        4, Long.MAX_VALUE - 4, 5, Long.MAX_VALUE - 5, 6, Long.MAX_VALUE - 6);
    }

    @Test
    void filesOfFoldersAreReadByName() throws Exception {
        Files.createDirectories(folder.resolve("table/day=2"));
        Files.createDirectories(folder.resolve("table/_temporary"));
        write("table/b.parquet", LISTS, 2, (group, row) -> fill(group, 20 + row, 1));
        write("table/a.parquet", LISTS, 3, (group, row) -> fill(group, 10 + row, 1));
        write("table/day=2/c.parquet", LISTS, 1, (group, row) -> fill(group, 30 + row, 1));
        write("table/_temporary/d.parquet", LISTS, 1, (group, row) -> fill(group, 40 + row, 1));
        Files.createFile(folder.resolve("table/_SUCCESS"));

        StoredData data = use(folder.resolve("table"), ColumnRequest.of("label"));

        assertThat(read(data, 0, 1).ints("label")).containsExactly(10, 11, 12, 20, 21, 30);
    }

    @Test
    void nullNamesColumnAndRow() throws Exception {
        Path file =
                write(
                        "nulls",
                        LISTS,
                        10,
                        (group, row) -> {
                            if (row != 6) {
                                fill(group, row, 3);
                            } else {
                                group.addGroup("old");
                            }
                        });

        assertThatThrownBy(() -> read(use(file, ColumnRequest.of("label")), 0, 1))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("column 'label' (int32) has null in row 6 of ")
                .hasMessageContaining("nulls");
        assertThatThrownBy(() -> read(use(file, ColumnRequest.of("x")), 0, 1))
                .hasMessageContaining(
                        "column 'x' (float64[3]) has null, or an empty array in row 6 of ");
        assertThatThrownBy(() -> read(use(file, ColumnRequest.of("old")), 0, 1))
                .hasMessageContaining("column 'old' (int64[2])")
                .hasMessageContaining("in row 6 of ");
        assertThat(read(use(file, ColumnRequest.of("label")), 0, 2).ints("label"))
                .as("the rank without that row")
                .containsExactly(0, 1, 2, 3, 4);
    }

    @Test
    void nullInAListAndAnotherLengthNameColumnAndRow() throws Exception {
        Path element =
                write(
                        "element",
                        LISTS,
                        9,
                        (group, row) -> {
                            fill(group, row, 2);
                            if (row == 5) {
                                group.getGroup("x", 0).addGroup("list");
                            }
                        });
        Path ragged = write("ragged", LISTS, 9, (group, row) -> fill(group, row, row == 8 ? 4 : 2));

        assertThatThrownBy(() -> read(use(element, ColumnRequest.of("x")), 0, 1))
                .hasMessageContaining("column 'x' (float64[2]) has null in element 2 in row 5 of ");
        assertThatThrownBy(() -> read(use(ragged, ColumnRequest.of("x")), 0, 1))
                .hasMessageContaining(
                        "has 4 elements, but 2 in the first row of the data in row 8 of ");
    }

    @Test
    void valueThatTheTypeLacksNamesColumnAndRow() throws Exception {
        Path file = write("types", LISTS, 6, (group, row) -> fill(group, row, 2));

        assertThatThrownBy(() -> read(use(file, ColumnRequest.of("x", DataType.INT32)), 0, 1))
                .hasMessageContaining("column 'x' (int32[2]) has 0.25 in row 0 of ");
        assertThatThrownBy(() -> read(use(file, ColumnRequest.of("old", DataType.INT32)), 0, 1))
                .hasMessageContaining("has 9223372036854775807 in row 0 of ");
    }

    @Test
    void missingColumnsAreListedWithThoseThatExist() throws Exception {
        Path file = write("columns", LISTS, 6, (group, row) -> fill(group, row, 2));

        assertThatThrownBy(() -> use(file, ColumnRequest.of("label"), ColumnRequest.of("features")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("has no column 'features'. It has: label, x, old.");
    }

    @Test
    void typesThatCannotBeTrainedWithAreRejected() throws Exception {
        Path file =
                write(
                        "strings",
                        "message m { required binary name (STRING); required int32 day (DATE); }",
                        1,
                        (group, row) -> group.append("name", "a").append("day", 1));

        assertThatThrownBy(() -> use(file, ColumnRequest.of("name")))
                .hasMessageContaining("column 'name' has type required binary name (STRING)")
                .hasMessageContaining("StringIndexer");
        assertThatThrownBy(() -> use(file, ColumnRequest.of("day")))
                .hasMessageContaining("column 'day' has type");
    }

    @Test
    void bytesAreReadAsBytesAlone() throws Exception {
        Path file =
                write(
                        "bytes",
                        "message m { required binary x; required fixed_len_byte_array(4) y; }",
                        3,
                        (group, row) ->
                                group.append("x", Binary.fromConstantByteArray(new byte[] {1, 2}))
                                        .append("y", Binary.fromConstantByteArray(new byte[4])));

        assertThat(read(use(file, ColumnRequest.of("x", DataType.UINT8)), 0, 1).bytes("x"))
                .containsExactly(1, 2, 1, 2, 1, 2);
        assertThatThrownBy(() -> use(file, ColumnRequest.of("x", DataType.FLOAT32)))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(
                        "column 'x' is binary in the file, and its bytes cannot be read as float32");
        assertThatThrownBy(() -> use(file, ColumnRequest.of("y", DataType.INT8)))
                .hasMessageContaining("column 'y' is binary in the file");
    }

    @Test
    void fileOfAnotherFormatIsNamed() throws Exception {
        Files.createDirectories(folder.resolve("mixed"));
        Files.writeString(folder.resolve("mixed/a.csv"), "label,x\n1,2\n1,2\n1,2\n");

        assertThatThrownBy(() -> use(folder.resolve("mixed"), ColumnRequest.of("x")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("a file cannot be read as Parquet: ")
                .hasMessageContaining("a.csv");
    }

    @Test
    void folderWithoutRowsIsRejected() throws Exception {
        Files.createDirectories(folder.resolve("empty"));
        write("empty/a.parquet", LISTS, 0, (group, row) -> {});

        assertThatThrownBy(() -> use(folder.resolve("empty"), ColumnRequest.of("x")))
                .hasMessageContaining("has no rows in Parquet files");
    }
}
