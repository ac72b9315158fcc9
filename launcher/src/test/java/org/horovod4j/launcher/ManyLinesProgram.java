package org.horovod4j.launcher;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/// A rank that prints many lines, in chunks that end in the middle of lines and characters.
final class ManyLinesProgram {
    private static final int CHUNK_SIZE = 37;

    private ManyLinesProgram() {}

    static String line(int number) {
        return "line " + number + " " + "北京 🙂 ü".repeat(number % 5);
    }

    public static void main(String[] arguments) throws IOException {
        StringBuilder text = new StringBuilder();
        for (int number = 0; number < Integer.parseInt(arguments[0]); number++) {
            text.append(line(number)).append('\n');
        }
        byte[] bytes = text.toString().getBytes(UTF_8);
        try (OutputStream out = new FileOutputStream(FileDescriptor.out)) {
            for (int at = 0; at < bytes.length; at += CHUNK_SIZE) {
                out.write(bytes, at, Math.min(CHUNK_SIZE, bytes.length - at));
            }
        }
    }
}
