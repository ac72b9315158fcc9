package org.horovod4j.spark.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.spark.data.StoredRows.RowGroup;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

class StoredDescriptionTest {
    private static final List<ColumnRequest> REQUESTS = List.of(ColumnRequest.of("id"));
    private static final WriteOptions OPTIONS = WriteOptions.forRanks(2);

    @TempDir Path folder;
    private Path file;
    private StoredDescription description;
    private StoredData data;

    @BeforeEach
    void describe() throws IOException {
        org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path(folder.toUri());
        FileSystem files = new LocalFileSystem(new RawLocalFileSystem());
        files.initialize(folder.toUri(), new Configuration());
        file = folder.resolve("_horovod4j-data");
        description = new StoredDescription(files, path);
        List<Column> columns = List.of(new Column("id", DataType.INT64, 1, false));
        data =
                new StoredData(
                        path.toString(),
                        new StoredRows(columns, List.of(group("a", 10), group("b", 12))),
                        new StoredRows(columns, List.of(group("c", 3))),
                        false);
    }

    private RowGroup group(String name, long rows) {
        String path = new org.apache.hadoop.fs.Path(folder.resolve(name).toUri()).toString();
        return new RowGroup(path, 0, rows);
    }

    @Test
    void isReadAsItWasWritten() throws Exception {
        assertThat(description.read(REQUESTS, OPTIONS)).isNull();
        description.write(data, REQUESTS, OPTIONS);

        assertThat(description.read(REQUESTS, OPTIONS)).isEqualTo(data);
        assertThat(folder.resolve("_horovod4j-data.partial")).doesNotExist();
    }

    @Test
    void fileThatIsNotCompleteIsRejected() throws Exception {
        description.write(data, REQUESTS, OPTIONS);
        List<String> lines = Files.readAllLines(file);

        for (int kept = 1; kept < lines.size(); kept++) {
            Files.delete(folder.resolve("._horovod4j-data.crc"));
            Files.write(file, lines.subList(0, kept));
            assertThatThrownBy(() -> description.read(REQUESTS, OPTIONS))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("_horovod4j-data is damaged, or of another version");
            description.write(data, REQUESTS, OPTIONS);
        }
    }

    @Test
    void fileOfAWriteThatWasInterruptedIsNotUsed() throws Exception {
        Files.writeString(folder.resolve("_horovod4j-data.partial"), "horovod4j data 1: col");

        assertThat(description.read(REQUESTS, OPTIONS)).isNull();
        description.write(data, REQUESTS, OPTIONS);
        assertThat(description.read(REQUESTS, OPTIONS)).isEqualTo(data);
    }
}
