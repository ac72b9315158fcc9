package org.horovod4j.scheduler;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The daemon by which Slurm has started a process, and which names itself after what it started:
/// `slurmstepd: [7.0]` above the tasks of a step, `slurmstepd: [7.batch]` above a batch script.
///
/// Variables are inherited from one job by the next and may be kept on purpose (`srun -E`); who has
/// started a process is neither. In a container with process numbers of its own no daemon is seen.
///
/// @param step a number, or a word where it is no run of `srun`
record SlurmStepDaemon(String job, String step) {
    private static final Pattern TITLE =
            Pattern.compile("slurmstepd: \\[(\\d+)\\.(\\d+|[a-z]+)\\]\\s*");

    /// The nearest one above a process.
    static Optional<SlurmStepDaemon> ancestorOf(ProcessHandle self) {
        return Stream.iterate(
                        self.parent(),
                        Optional::isPresent,
                        each -> each.flatMap(ProcessHandle::parent))
                .flatMap(each -> parseTitle(title(each.orElseThrow())).stream())
                .findFirst();
    }

    static Optional<SlurmStepDaemon> parseTitle(String title) {
        Matcher matcher = TITLE.matcher(title);
        return matcher.matches()
                ? Optional.of(new SlurmStepDaemon(matcher.group(1), matcher.group(2)))
                : Optional.empty();
    }

    /// What it calls itself. [ProcessHandle.Info] would leave that out for the file it was started from.
    private static String title(ProcessHandle process) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline"))
                    .replace('\0', ' ');
        } catch (IOException e) {
            return ""; // it has ended, it is hidden from us, or this is no Linux: no daemon is seen
        }
    }

    boolean isNotStep() {
        return !Character.isDigit(step.charAt(0));
    }
}
