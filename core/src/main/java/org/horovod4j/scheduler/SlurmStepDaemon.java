package org.horovod4j.scheduler;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The Slurm daemon that started a process. Its title names what it started: `slurmstepd: [7.0]`
/// for the tasks of a step, `slurmstepd: [7.batch]` for a batch script.
///
/// One job may inherit or keep the variables of another (`srun -E`), but not its daemon. In a
/// container with its own process numbers the daemon is not visible.
///
/// @param step a number, or a word if `srun` did not start it
record SlurmStepDaemon(String job, String step) {
    private static final Pattern TITLE =
            Pattern.compile("slurmstepd: \\[(\\d+)\\.(\\d+|[a-z]+)\\]\\s*");

    /// The nearest daemon among the ancestors of a process.
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

    /// The title of a process. [ProcessHandle.Info] would return the executable instead.
    private static String title(ProcessHandle process) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline"))
                    .replace('\0', ' ');
        } catch (IOException e) {
            return ""; // the process has ended or is hidden, or this is not Linux
        }
    }

    boolean isNotStep() {
        return !Character.isDigit(step.charAt(0));
    }
}
