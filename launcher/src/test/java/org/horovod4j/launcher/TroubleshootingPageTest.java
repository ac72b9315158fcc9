package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// Compares `docs/troubleshooting.md` with the sources, both ways: the page explains every exception of
/// the launcher, of a rank that starts and of the adapters to frameworks, and quotes no message that
/// the sources lack. See decision 23.
class TroubleshootingPageTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");
    private static final Pattern SHELL_MESSAGE =
            Pattern.compile("echo \"horovodrun: ([^\"]+)\"(?: \\\\\\s+\"([^\"]+)\")?");

    /// Sources whose exceptions a user of `horovodrun` sees before the first collective.
    private static final List<Path> STARTUP_SOURCES =
            paths(
                    "launcher/src/main/java",
                    "core/src/main/java/org/horovod4j/connection",
                    "core/src/main/java/org/horovod4j/network",
                    "core/src/main/java/org/horovod4j/option",
                    "core/src/main/java/org/horovod4j/rendezvous",
                    "core/src/main/java/org/horovod4j/scheduler");

    /// Sources whose exceptions a DJL program sees, wrong arguments included.
    private static final List<Path> DJL_SOURCES =
            paths(
                    "frameworks/libtorch/src/main/java",
                    "frameworks/djl/src/main/java",
                    "core/src/main/java/org/horovod4j/checkpoint",
                    "core/src/main/java/org/horovod4j/data",
                    "core/src/main/java/org/horovod4j/optim",
                    "core/src/main/java/org/horovod4j/training");

    /// Sources whose exceptions a program with PyTorch by Bytedeco sees, wrong arguments included.
    private static final List<Path> PYTORCH_SOURCES = paths("frameworks/pytorch/src/main/java");

    /// Sources whose exceptions a TensorFlow program sees, wrong arguments included.
    private static final List<Path> TENSORFLOW_SOURCES =
            paths("frameworks/tensorflow/src/main/java");

    /// Sources whose exceptions a DL4J program sees, wrong arguments included.
    private static final List<Path> DL4J_SOURCES = paths("frameworks/dl4j/src/main/java");

    /// Sources whose exceptions a program on a GPU sees.
    private static final List<Path> GPU_SOURCES =
            paths("natives/cuda/src/main/java", "natives/nccl/src/main/java");

    /// Sources whose exceptions a program on Spark sees.
    private static final List<Path> SPARK_SOURCES =
            paths("engines/spark/src/main/java", "engines/spark-djl/src/main/java");

    private static final List<Path> ALL_SOURCES =
            paths(
                    "natives/cuda/src/main/java",
                    "natives/nccl/src/main/java",
                    "launcher/src/main/java",
                    "core/src/main/java",
                    "frameworks/libtorch/src/main/java",
                    "frameworks/djl/src/main/java",
                    "frameworks/pytorch/src/main/java",
                    "frameworks/tensorflow/src/main/java",
                    "frameworks/dl4j/src/main/java",
                    "engines/spark/src/main/java",
                    "engines/spark-djl/src/main/java");

    /// Messages of picocli, which parses the flags.
    private static final Set<String> EXTERNAL_MESSAGES =
            Set.of("option '--x' should be specified only once");

    private static final int MIN_WORDS = 4;

    /// Shorter texts are parts of other messages.
    private static final int MIN_MESSAGE_WORDS = 5;

    private static List<Path> paths(String... names) {
        return Stream.of(names).map(ROOT::resolve).toList();
    }

    @Test
    void everyExceptionOfTheLauncherHasAnEntry() {
        assertDocumented(
                Stream.concat(
                        SourceMessages.ofExceptions(STARTUP_SOURCES).stream(), shellMessages()));
    }

    @Test
    void everyExceptionOfTheDjlAdapterHasAnEntry() {
        assertDocumented(SourceMessages.ofLibraryExceptions(DJL_SOURCES).stream());
    }

    @Test
    void everyExceptionOfThePyTorchAdapterHasAnEntry() {
        assertDocumented(SourceMessages.ofLibraryExceptions(PYTORCH_SOURCES).stream());
    }

    @Test
    void everyExceptionOfTheTensorFlowAdapterHasAnEntry() {
        assertDocumented(SourceMessages.ofLibraryExceptions(TENSORFLOW_SOURCES).stream());
    }

    @Test
    void everyExceptionOfTheDl4jAdapterHasAnEntry() {
        assertDocumented(SourceMessages.ofLibraryExceptions(DL4J_SOURCES).stream());
    }

    @Test
    void everyExceptionOnAGpuHasAnEntry() {
        assertDocumented(SourceMessages.ofLibraryExceptions(GPU_SOURCES).stream());
    }

    @Test
    void everyExceptionOfTheSparkModuleHasAnEntry() {
        assertDocumented(SourceMessages.ofExceptions(SPARK_SOURCES).stream());
    }

    private static void assertDocumented(Stream<MessageTemplate> messages) {
        List<List<String>> quotes = quotes().map(MessageTemplate::split).toList();
        assertThat(
                        messages.filter(message -> message.plainWords() >= MIN_MESSAGE_WORDS)
                                .filter(message -> quotes.stream().noneMatch(message::isQuotedBy)))
                .as("messages that docs/troubleshooting.md lacks")
                .isEmpty();
    }

    @Test
    void everyEntryIsAMessage() {
        List<MessageTemplate> messages =
                Stream.concat(SourceMessages.all(ALL_SOURCES).stream(), shellMessages()).toList();
        assertThat(
                        quotes().filter(quote -> !EXTERNAL_MESSAGES.contains(quote))
                                .map(MessageTemplate::split)
                                .filter(quote -> quote.size() >= MIN_WORDS)
                                .filter(
                                        quote ->
                                                messages.stream()
                                                        .noneMatch(it -> it.isQuotedBy(quote)))
                                .map(quote -> String.join(" ", quote)))
                .as("entries of docs/troubleshooting.md that no source has")
                .isEmpty();
    }

    /// The quoted texts in the message cells of tables.
    private static Stream<String> quotes() {
        return read("docs/troubleshooting.md")
                .lines()
                .filter(line -> line.startsWith("| "))
                .map(TroubleshootingPageTest::messages)
                .flatMap(cell -> QUOTED.matcher(cell).results().map(found -> found.group(1)))
                .distinct();
    }

    /// The cell of a row that holds messages: the first, or the third in tables of numbered errors.
    private static String messages(String row) {
        List<String> cells = List.of(row.substring(2).split(" \\| ", -1));
        return cells.get(cells.getFirst().startsWith("E-") ? 2 : 0);
    }

    private static Stream<MessageTemplate> shellMessages() {
        return Stream.of("horovodrun", "launcher/src/main/scripts/horovodrun")
                .flatMap(
                        script ->
                                SHELL_MESSAGE
                                        .matcher(read(script))
                                        .results()
                                        .map(
                                                found ->
                                                        found.group(1)
                                                                + " "
                                                                + (found.group(2) == null
                                                                        ? ""
                                                                        : found.group(2)))
                                        .map(
                                                text ->
                                                        new MessageTemplate(
                                                                script,
                                                                text.replaceAll(
                                                                        "\\$\\w+",
                                                                        MessageTemplate.GAP))));
    }

    private static String read(String file) {
        try {
            return Files.readString(ROOT.resolve(file));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
