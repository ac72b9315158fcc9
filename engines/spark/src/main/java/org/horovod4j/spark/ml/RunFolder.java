package org.horovod4j.spark.ml;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkEnv;
import org.apache.spark.deploy.SparkHadoopUtil;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.util.TreeMap;

/// A folder of a Hadoop file system in which a training leaves its checkpoints, so that it can resume
/// on any machine.
///
/// | in the folder | is                                                        |
/// |---------------|-----------------------------------------------------------|
/// | `checkpoints` | the files of the framework, copied after each epoch       |
/// | `best`        | the network of the best epoch, with early stopping        |
/// | `history`     | the metrics, a line for each epoch                        |
///
/// A file is written under another name and then renamed, so it is complete or not there. An older
/// file is deleted just before the rename; if the process ends between the two, the complete new file
/// is there under the other name, and is used.
final class RunFolder {
    private static final String CHECKPOINTS = "checkpoints";
    private static final String BEST = "best";
    private static final String HISTORY = "history";
    private static final String PARTIAL = ".partial";

    private final FileSystem files;
    private final Path folder;

    RunFolder(String uri) throws IOException {
        this.folder = new Path(uri);
        this.files = folder.getFileSystem(configuration());
    }

    /// With the settings `spark.hadoop.…` of the application. A rank in its own process has them as
    /// system properties.
    private static Configuration configuration() {
        SparkEnv executor = SparkEnv.get();
        return executor == null
                ? SparkHadoopUtil.get().conf()
                : SparkHadoopUtil.get().newConfiguration(executor.conf());
    }

    /// Copies the checkpoints to a folder of this machine.
    void downloadCheckpoints(java.nio.file.Path local) throws IOException {
        read(CHECKPOINTS).write(local);
    }

    /// Copies new checkpoints from a folder of this machine, and deletes those that it no longer has.
    void uploadCheckpoints(java.nio.file.Path local) throws IOException {
        Path target = new Path(folder, CHECKPOINTS);
        try (DirectoryStream<java.nio.file.Path> all = Files.newDirectoryStream(local)) {
            for (java.nio.file.Path file : all) {
                Path copy = new Path(target, file.getFileName().toString());
                if (Files.isRegularFile(file) && !files.exists(copy)) {
                    write(copy, Files.readAllBytes(file));
                }
            }
        }
        for (FileStatus file : list(target)) {
            if (!Files.exists(local.resolve(file.getPath().getName()))) {
                files.delete(file.getPath(), false);
            }
        }
    }

    /// The network of the best epoch. There is a complete one if there is a checkpoint.
    NetworkFiles best() throws IOException {
        NetworkFiles found = read(BEST);
        for (FileStatus file : list(new Path(folder, BEST))) {
            String name = file.getPath().getName();
            if (name.endsWith(PARTIAL)) {
                String complete = name.substring(1, name.length() - PARTIAL.length());
                if (!found.byName().containsKey(complete)) {
                    found.byName().put(complete, read(file.getPath()));
                }
            }
        }
        return found;
    }

    void writeBest(NetworkFiles network) throws IOException {
        for (var file : network.byName().entrySet()) {
            write(new Path(new Path(folder, BEST), file.getKey()), file.getValue());
        }
    }

    TrainingHistory history() throws IOException {
        Path file = new Path(folder, HISTORY);
        Path partial = partial(file);
        if (files.exists(file)) {
            return TrainingHistory.parse(new String(read(file), StandardCharsets.UTF_8));
        }
        if (files.exists(partial)) {
            String text = new String(read(partial), StandardCharsets.UTF_8);
            // Not complete only if it is the first one, of one line.
            return TrainingHistory.parse(text.substring(0, text.lastIndexOf('\n') + 1));
        }
        return TrainingHistory.EMPTY;
    }

    void writeHistory(TrainingHistory history) throws IOException {
        write(new Path(folder, HISTORY), history.format().getBytes(StandardCharsets.UTF_8));
    }

    /// Deletes everything.
    void clear() throws IOException {
        files.delete(folder, true);
    }

    private NetworkFiles read(String subfolder) throws IOException {
        TreeMap<String, byte[]> found = new TreeMap<>();
        for (FileStatus file : list(new Path(folder, subfolder))) {
            if (file.isFile() && !file.getPath().getName().endsWith(PARTIAL)) {
                found.put(file.getPath().getName(), read(file.getPath()));
            }
        }
        return new NetworkFiles(found);
    }

    private FileStatus[] list(Path path) throws IOException {
        try {
            return files.listStatus(path);
        } catch (FileNotFoundException e) {
            return new FileStatus[0];
        }
    }

    private byte[] read(Path file) throws IOException {
        try (InputStream in = files.open(file)) {
            return in.readAllBytes();
        }
    }

    private static Path partial(Path file) {
        return new Path(file.getParent(), "." + file.getName() + PARTIAL);
    }

    private void write(Path file, byte[] bytes) throws IOException {
        Path partial = partial(file);
        try (FSDataOutputStream out = files.create(partial, true)) {
            out.write(bytes);
        }
        files.delete(file, false); // not all file systems replace a file by a rename
        if (!files.rename(partial, file)) {
            throw new IOException("cannot rename %s to %s".formatted(partial, file));
        }
    }
}
