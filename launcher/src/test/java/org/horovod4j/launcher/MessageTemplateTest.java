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
import java.util.Set;

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
        assertThat(REFUSAL.isQuotedBy(quote)).isEqualTo(fits);
    }

    @Test
    void concatenatedTextsAreFoundAsOneMessage(@TempDir Path folder) throws IOException {
        Files.writeString(
                folder.resolve("Some.java"),
                """
                class Some {
                    String reason(String host) {
                        return "the host " + host + " has gone"
                                + " away for " + (host.isEmpty() ? "no reason at all" : "good");
                    }
                    void fail() {
                        throw new Oops("%s of %d hosts are".formatted(1, 2) + " not ready", null);
                    }
                    void quiet() {
                        log(Level.DEBUG, "nobody reads such a line");
                        log(Level.WARNING, "somebody reads such a line");
                        help("this text is no complaint");
                    }
                }
                """);
        Files.writeString(
                folder.resolve("Other.java"),
                "class Other { String s = \"all of this is help\"; }");
        assertThat(SourceMessages.errorMessages(List.of(folder), Set.of("Other.java")))
                .extracting(MessageTemplate::toString)
                .containsExactlyInAnyOrder(
                        "Some.java: the host … has gone away for …",
                        "Some.java: no reason at all",
                        "Some.java: … of … hosts are not ready",
                        "Some.java: somebody reads such a line");
        assertThat(SourceMessages.all(List.of(folder))).hasSize(7);
    }
}
