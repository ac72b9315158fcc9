package org.horovod4j.launcher.output;

/// A file that takes what one stream of one rank prints. It never throws: a job does not end
/// because its log cannot be written.
interface OutputFile extends AutoCloseable {
    /// Takes nothing.
    OutputFile NONE =
            new OutputFile() {
                @Override
                public void write(byte[] lines) {}

                @Override
                public void close() {}
            };

    /// Writes whole lines, at once: whoever follows the file sees them when the console does.
    void write(byte[] lines);

    @Override
    void close();
}
