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

/// Holds `docs/troubleshooting.md` to the words of today's code, both ways: each message of the launcher,
/// of a rank that starts, and of the adapter to DJL is on the page, and each that the page quotes is in the
/// sources.
class TroubleshootingPageTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    private static final Pattern QUOTED = Pattern.compile("`([^`]+)`");
    private static final Pattern SHELL_MESSAGE =
            Pattern.compile("echo \"horovodrun: ([^\"]+)\"(?: \\\\\\s+\"([^\"]+)\")?");

    /// What a user of `horovodrun` may see before the first collective.
    private static final List<Path> STARTUP_SOURCES =
            paths(
                    "launcher/src/main/java",
                    "core/src/main/java/org/horovod4j/network",
                    "core/src/main/java/org/horovod4j/option",
                    "core/src/main/java/org/horovod4j/rendezvous",
                    "core/src/main/java/org/horovod4j/scheduler");

    /// What a program may see that trains with DJL. It calls these itself, so it may be refused.
    private static final List<Path> DJL_SOURCES =
            paths("frameworks/djl/src/main/java", "core/src/main/java/org/horovod4j/optim");

    private static final List<Path> ALL_SOURCES =
            paths("launcher/src/main/java", "core/src/main/java", "frameworks/djl/src/main/java");

    /// Texts of help, of reports and of the reference of options.
    private static final Set<String> NON_ERROR_FILES =
            Set.of(
                    "LauncherFlag.java",
                    "Usage.java",
                    "Version.java",
                    "BuildReport.java",
                    "ClassPath.java",
                    "Framework.java",
                    "ExternalTool.java",
                    "StartupProgress.java",
                    "OptionGroup.java",
                    "UnsupportedVariable.java"); // why flags of Horovod's have no effect

    private static final Set<String> DJL_NON_ERROR_FILES =
            Set.of(
                    "ProgressFormat.java",
                    "HooksSelfTest.java", // how the test of hooks failed
                    "OverlapDecision.java", // why gradients travel when they do
                    "OverlapHeuristic.java",
                    "SizeCheck.java"); // our own mistakes

    /// Parts of other messages, and lines that tell of no trouble, by their first words.
    private static final List<String> UNDOCUMENTED =
            List.of(
                    "Did you mean …",
                    "… Did you mean …",
                    "… Until then it counts as not set",
                    "(rendezvous server at …)",
                    "the job failed",
                    "WARNING Using incubator modules",
                    "No archive of classes",
                    "An archive of classes is lost",
                    "Put an IPv6 address in brackets",
                    "Write each host as name:slots",
                    "waiting for processes to exit",
                    "sent a signal",
                    "each rank runs",
                    "host … is ready by …",
                    "each rank on … runs",
                    "the training has ended",
                    "after the loss of worker",
                    "state from worker",
                    "… has … slots now",
                    "the places of generation",
                    "without a name",
                    "… … CPUs and memory are not reserved",
                    "horovodrun (Horovod4J)",
                    "as in 4",
                    "… See horovodrun --help",
                    "rank … on … (process …)",
                    "Let it use values that may travel",
                    "the function of … … … …",
                    "the host was let go",
                    "ssh was gone already",
                    "An agent did not take",
                    "An agent has ended",
                    "exec sh -c",
                    "echo \"horovodrun",
                    "… and the PATH",
                    "IBM Spectrum MPI",
                    "a world of one process",
                    "a whole number",
                    "set to something",
                    "not set are",
                    "Set HOROVOD_RANK and HOROVOD_SIZE",
                    "Give every rank the address",
                    "Check that the launcher runs");

    /// The same, and our own mistakes, in what programs call that train with DJL.
    private static final List<String> DJL_UNDOCUMENTED =
            List.of(
                    "Did you mean '…'?",
                    "the epoch has no more batches",
                    "… was made accessible",
                    "save the checkpoint of epoch",
                    "checkpoints to keep",
                    "epochs between checkpoints",
                    "Add it first",
                    "Add TrainingListener.Defaults first",
                    "checkpoints are little-endian",
                    "no array of engine",
                    "moveInto an array can live",
                    "libtorch called an unknown function",
                    "libtorch cannot call a",
                    "libtorch's hook of",
                    "the array … of shape … requires no gradient",
                    "the pattern of a slot",
                    "… is neither a number nor a boolean",
                    "switched off by overlap(false)",
                    "Adasum combines changes of weights",
                    "hooks are attached when parameters are initialised",
                    "the parameters of the model and the state",
                    "Use the same optimizer",
                    "Build the same network",
                    "the gradient of '…' exists on no rank");

    /// Of picocli, which reads the flags.
    private static final Set<String> EXTERNAL_MESSAGES =
            Set.of("option '--x' should be specified only once");

    private static final int MIN_WORDS = 4;

    private static List<Path> paths(String... names) {
        return Stream.of(names).map(ROOT::resolve).toList();
    }

    @Test
    void everyMessageHasAnEntry() {
        List<String> quotes = quotes().toList();
        assertThat(
                        Stream.concat(startupMessages().stream(), shellMessages())
                                .filter(message -> !isAmong(UNDOCUMENTED, message))
                                .filter(message -> quotes.stream().noneMatch(message::isQuotedBy)))
                .as("messages that docs/troubleshooting.md lacks")
                .isEmpty();
    }

    @Test
    void everyMessageToProgramsThatTrainHasAnEntry() {
        List<String> quotes = quotes().toList();
        assertThat(
                        djlMessages().stream()
                                .filter(message -> !isAmong(DJL_UNDOCUMENTED, message))
                                .filter(message -> quotes.stream().noneMatch(message::isQuotedBy)))
                .as("messages that docs/troubleshooting.md lacks")
                .isEmpty();
    }

    private static List<MessageTemplate> startupMessages() {
        return SourceMessages.errorMessages(STARTUP_SOURCES, NON_ERROR_FILES);
    }

    private static List<MessageTemplate> djlMessages() {
        return SourceMessages.errorMessagesAndRefusals(DJL_SOURCES, DJL_NON_ERROR_FILES);
    }

    @Test
    void everyEntryIsAMessage() {
        List<MessageTemplate> messages =
                Stream.concat(SourceMessages.all(ALL_SOURCES).stream(), shellMessages()).toList();
        assertThat(
                        quotes().filter(quote -> !EXTERNAL_MESSAGES.contains(quote))
                                .filter(quote -> MessageTemplate.split(quote).size() >= MIN_WORDS)
                                .filter(
                                        quote ->
                                                messages.stream()
                                                        .noneMatch(it -> it.isQuotedBy(quote))))
                .as("entries of docs/troubleshooting.md that no source has")
                .isEmpty();
    }

    @Test
    void undocumentedMessagesExistInSources() {
        assertEachBeginsOneOf(UNDOCUMENTED, startupMessages());
        assertEachBeginsOneOf(DJL_UNDOCUMENTED, djlMessages());
    }

    private static void assertEachBeginsOneOf(
            List<String> beginnings, List<MessageTemplate> messages) {
        assertThat(beginnings)
                .allSatisfy(
                        words ->
                                assertThat(messages)
                                        .as(words)
                                        .anyMatch(message -> begins(message, words)));
    }

    private static boolean isAmong(List<String> beginnings, MessageTemplate message) {
        return beginnings.stream().anyMatch(words -> begins(message, words));
    }

    private static boolean begins(MessageTemplate message, String words) {
        String text = message.toString();
        return text.substring(text.indexOf(": ") + 2).startsWith(words);
    }

    /// What the cells of tables that hold messages have in quotes.
    private static Stream<String> quotes() {
        return read("docs/troubleshooting.md")
                .lines()
                .filter(line -> line.startsWith("| "))
                .map(TroubleshootingPageTest::messages)
                .flatMap(cell -> QUOTED.matcher(cell).results().map(found -> found.group(1)))
                .distinct();
    }

    /// The cell of a row that has the messages: the first, but the third where errors are numbered.
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
