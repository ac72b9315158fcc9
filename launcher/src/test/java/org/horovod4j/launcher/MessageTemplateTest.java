package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/// What [TroubleshootingPageTest] relies on.
class MessageTemplateTest {
    private static final MessageTemplate REFUSAL =
            new MessageTemplate("Ssh.java", "it refuses connections to port %s. Start sshd, %s.");

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "it refuses connections to port 22 | true",
                "it refuses … to port 22. Start sshd | true",
                "… to port 22 or 23. Start sshd | true",
                "it refuses all connections to port 22 | false",
                "it refuses connections to ports | false",
                "port 22 | false", // too few words to tell it from others
                "… | false",
                "it refuses connections to port 22. Start sshd, please. Or leave | true",
                "and it refuses connections to port 22 | false"
            })
    void quoteMatchesWordsInOrder(String quote, boolean fits) {
        assertThat(REFUSAL.isQuotedBy(MessageTemplate.split(quote))).isEqualTo(fits);
    }

    @Test
    void exceptionMessagesAreFoundAsOneTextEach(@TempDir Path folder) throws IOException {
        Files.writeString(
                folder.resolve("Some.java"),
                """
                class Some {
                    String reason(String host) {
                        return "the host " + host + " does not answer";
                    }
                    void fail(String host) {
                        throw new OopsException("%s of %d hosts are".formatted(1, 2) + " not ready", null);
                    }
                    void explain(String host) {
                        throw new OopsException("no answer from " + host
                                + (host.isEmpty() ? "it has no name" : "good"));
                    }
                    void internal() {
                        throw new CodecException("the bytes make no sense");
                    }
                    void wrongCall() {
                        throw new IllegalArgumentException("the size is too small");
                    }
                }
                """);
        assertThat(SourceMessages.ofExceptions(List.of(folder)))
                .extracting(MessageTemplate::toString)
                .containsExactlyInAnyOrder(
                        "Some.java: … of … hosts are not ready",
                        "Some.java: no answer from ……",
                        "Some.java: it has no name");
        assertThat(SourceMessages.ofLibraryExceptions(List.of(folder))).hasSize(4);
        assertThat(SourceMessages.all(List.of(folder))).hasSize(6);
    }
}
