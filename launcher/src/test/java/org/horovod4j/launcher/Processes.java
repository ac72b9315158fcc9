package org.horovod4j.launcher;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/// What runs on this machine, as `/proc` tells it.
final class Processes {
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

    static void signal(String name, long pid) throws IOException, InterruptedException {
        new ProcessBuilder("sh", "-c", "kill -s " + name + " " + pid).start().waitFor();
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
