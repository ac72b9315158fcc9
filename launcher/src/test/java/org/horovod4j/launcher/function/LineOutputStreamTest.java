package org.horovod4j.launcher.function;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class LineOutputStreamTest {
    @Test
    void lineFeedCarriageReturnAndBothEndLines() throws Exception {
        List<String> lines = new ArrayList<>();
        LineOutputStream stream = new LineOutputStream(lines::add);
        stream.write("ü\n10%\r20%\r\n\nrest".getBytes(UTF_8));
        assertThat(lines).containsExactly("ü", "10%", "20%", "");
        stream.write('\n');
        assertThat(lines).endsWith("rest");
    }

    @Test
    void closePassesOnALineWithoutAnEnd() throws Exception {
        List<String> lines = new ArrayList<>();
        LineOutputStream stream = new LineOutputStream(lines::add);
        stream.write("a\nb".getBytes(UTF_8));
        stream.close();
        stream.close();
        assertThat(lines).containsExactly("a", "b");
    }
}
