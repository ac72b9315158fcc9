package org.horovod4j.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// The processes of this machine, as `/proc` shows them, and short commands run to their end.
public final class Processes {
    private static final Pattern WORKER = Pattern.compile("\0HOROVOD_ELASTIC_WORKER=(\\d+)\0");

    private Processes() {}

    /// All processes whose environment contains `NAME=value`.
    public static List<Long> withVariable(String variable) {
        return withText("environ", variable);
    }

    /// All processes whose command line contains this text; a zero character separates its words.
    public static List<Long> withCommandLine(String text) {
        return withText("cmdline", text);
    }

    /// All processes that have the id of a job in their environment.
    public static List<Long> ofJob(String jobId) {
        return withVariable("HOROVOD_JOB_ID=" + jobId);
    }

    /// The watchdogs of a job. They have its id in their environment, under a name of their own.
    public static List<Long> watchdogsOf(String jobId) {
        return withVariable("HOROVOD_WATCHED_JOB=" + jobId);
    }

    /// The agent that a launcher started on this machine through a script in place of ssh.
    public static long agentOf(long launcher) {
        return ProcessHandle.of(launcher).stream()
                .flatMap(ProcessHandle::descendants)
                .map(ProcessHandle::pid)
                .filter(withCommandLine("org.horovod4j.launcher.remote.Agent")::contains)
                .findFirst()
                .orElseThrow();
    }

    public static long ofRank(String jobId, int rank) {
        return ofJob(jobId).stream()
                .filter(withVariable("HOROVOD_RANK=" + rank + "\0")::contains)
                .findFirst()
                .orElseThrow();
    }

    /// The process of an elastic worker, on any simulated host.
    public static long ofWorker(String jobId, int worker) {
        return Optional.ofNullable(workersOf(jobId).get(worker)).orElseThrow();
    }

    /// The running processes of a job's elastic workers, by worker number.
    public static Map<Integer, Long> workersOf(String jobId) {
        Map<Integer, Long> workers = new TreeMap<>();
        for (long pid : ofJob(jobId)) {
            Matcher matcher = WORKER.matcher(read(pid, "environ"));
            if (matcher.find()) {
                workers.put(Integer.parseInt(matcher.group(1)), pid);
            }
        }
        return workers;
    }

    /// Sends a signal to those of the processes that still exist.
    ///
    /// @return whether all of them did
    public static boolean signal(String name, List<Long> pids)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("kill", "-s", name));
        pids.forEach(pid -> command.add(pid.toString()));
        return run(command.toArray(String[]::new)) == 0;
    }

    public static boolean signal(String name, long pid) throws IOException, InterruptedException {
        return signal(name, List.of(pid));
    }

    /// Runs a command without its output, and returns its exit code.
    public static int run(String... command) throws IOException, InterruptedException {
        return new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor();
    }

    /// Runs a command that must succeed, and returns what it prints on both streams.
    public static String output(List<String> command) throws IOException, InterruptedException {
        return output(new ProcessBuilder(command));
    }

    public static String output(ProcessBuilder builder) throws IOException, InterruptedException {
        Process process = builder.redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    private static List<Long> withText(String file, String text) {
        return ProcessHandle.allProcesses()
                .map(ProcessHandle::pid)
                .filter(pid -> read(pid, file).contains(text))
                .toList();
    }

    /// Empty for a process that has ended in the meantime, or that another user owns.
    private static String read(long pid, String file) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(pid), file), ISO_8859_1);
        } catch (IOException e) {
            return "";
        }
    }
}
