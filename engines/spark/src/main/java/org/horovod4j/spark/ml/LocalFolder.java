package org.horovod4j.spark.ml;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/// A folder on the disk of this machine, which is deleted when it is closed.
record LocalFolder(Path path) implements AutoCloseable {
    static LocalFolder create() throws IOException {
        return new LocalFolder(Files.createTempDirectory("hvd-fit-"));
    }

    @Override
    public void close() throws IOException {
        delete(path);
    }

    /// Deletes a folder with all it has, if it exists.
    static void delete(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        Files.walkFileTree(
                folder,
                new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
                            throws IOException {
                        Files.delete(file);
                        return FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult postVisitDirectory(Path dir, IOException failure)
                            throws IOException {
                        Files.delete(dir);
                        return FileVisitResult.CONTINUE;
                    }
                });
    }
}
