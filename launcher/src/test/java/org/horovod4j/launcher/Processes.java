package org.horovod4j.launcher;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

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

/// What runs on this machine, as `/proc` tells it.
final class Processes {
    private static final Pattern WORKER = Pattern.compile("\0HOROVOD_ELASTIC_WORKER=(\\d+)\0");

    private Processes() {}

    /// All processes that have the job's mark in their environment.
    static List<Long> ofJob(String jobId) {
        return holding("environ", "HOROVOD_JOB_ID=" + jobId);
    }

    /// The watchdogs of a job, which know it from their command line.
    static List<Long> watchdogsOf(String jobId) {
        return withCommandLine("HOROVOD_JOB_ID=" + jobId);
    }

    static List<Long> withCommandLine(String text) {
        return holding("cmdline", text);
    }

    /// An agent that a launcher on this machine has started, through a stand-in for ssh.
    static long agentOf(long launcher) {
        return ProcessHandle.of(launcher).stream()
                .flatMap(ProcessHandle::descendants)
                .map(ProcessHandle::pid)
                .filter(withCommandLine("org.horovod4j.launcher.remote.Agent")::contains)
                .findFirst()
                .orElseThrow();
    }

    /// The process of a rank.
    static long ofRank(String jobId, int rank) {
        return ofJob(jobId).stream()
                .filter(holding("environ", "HOROVOD_RANK=" + rank + "\0")::contains)
                .findFirst()
                .orElseThrow();
    }

    /// The process of an elastic worker, on whichever host of this machine.
    static long ofWorker(String jobId, int worker) {
        return Optional.ofNullable(workersOf(jobId).get(worker)).orElseThrow();
    }

    /// The processes of a job's elastic workers that live now, by their numbers. A number that a dead one
    /// once had may be anybody's today.
    static Map<Integer, Long> workersOf(String jobId) {
        Map<Integer, Long> workers = new TreeMap<>();
        for (long pid : ofJob(jobId)) {
            Matcher matcher = WORKER.matcher(read(Path.of("/proc", Long.toString(pid), "environ")));
            if (matcher.find()) {
                workers.put(Integer.parseInt(matcher.group(1)), pid);
            }
        }
        return workers;
    }

    static void signal(String name, List<Long> pids) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("kill", "-s", name));
        pids.forEach(pid -> command.add(pid.toString()));
        new ProcessBuilder(command).start().waitFor();
    }

    static void signal(String name, long pid) throws IOException, InterruptedException {
        signal(name, List.of(pid));
    }

    private static List<Long> holding(String file, String text) {
        return ProcessHandle.allProcesses()
                .map(ProcessHandle::pid)
                .filter(pid -> read(Path.of("/proc", pid.toString(), file)).contains(text))
                .toList();
    }

    /// Empty for a process that has ended in the meantime, or is another user's.
    private static String read(Path file) {
        try {
            return Files.readString(file, ISO_8859_1);
        } catch (IOException e) {
            return "";
        }
    }
}
