package org.horovod4j.launcher.file;

import org.horovod4j.ConfigurationException;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/// Reads text files, such as settings.
public final class TextFile {
    /// Some editors write it, invisibly, at the start of a file.
    private static final String BYTE_ORDER_MARK = "\ufeff";

    private TextFile() {}

    /// The content of a file.
    ///
    /// @param kind the prefix of its name in messages: "host file ", or empty
    /// @throws ConfigurationException if it cannot be read
    public static String read(String kind, Path file) {
        try {
            String text = Files.readString(file);
            return text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text;
        } catch (IOException e) {
            throw new ConfigurationException(
                    "%s'%s' cannot be read: %s".formatted(kind, file, reason(file, e)), e);
        }
    }

    private static String reason(Path file, IOException e) {
        return switch (e) {
            case NoSuchFileException _ ->
                    "there is no such file (current folder %s). Check its path."
                            .formatted(Path.of("").toAbsolutePath());
            case AccessDeniedException _ -> "permission denied. Check its mode.";
            case CharacterCodingException _ -> "it is not in UTF-8. Save it in UTF-8.";
            case IOException _ when Files.isDirectory(file) -> "it is a folder. Name a file.";
            default -> e.getMessage() + ". Check its path and mode.";
        };
    }
}
