package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.plan.Host;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/// How a host is made ready: all that may be tried again until it is, or the time is up.
///
/// An sshd that many log in to at once turns some of them away, which says nothing of the next try.
final class LogIn {
    /// As many as Horovod makes.
    private static final int TRIES = 5;

    /// After the first try; each further pause is twice as long.
    private static final Duration PAUSE = Duration.ofMillis(500);

    private final Host host;
    private final RemoteJob job;
    private final Bootstrap bootstrap;
    private final Deadline deadline;
    private volatile @Nullable SshConnection current;

    private LogIn(Host host, RemoteJob job, Bootstrap bootstrap) {
        this.host = host;
        this.job = job;
        this.bootstrap = bootstrap;
        this.deadline = Deadline.start(job.startTimeout(), this::kill);
    }

    /// @param givenUp when complete, nobody waits for the host any more
    static RemoteHost to(Host host, RemoteJob job, CompletionStage<?> givenUp)
            throws HostNotReadyException {
        LogIn logIn;
        try {
            logIn = new LogIn(host, job, new Bootstrap(job));
        } catch (IOException e) {
            throw new HostNotReadyException("the agent's classes cannot be read here: " + e, e);
        }
        var _ = givenUp.thenRun(logIn.deadline::giveUp);
        return logIn.run();
    }

    private RemoteHost run() throws HostNotReadyException {
        Duration pause = PAUSE;
        for (int tries = 1; ; tries++) {
            try {
                return attempt();
            } catch (TurnedAwayException e) {
                if (tries == TRIES || deadline.isOverAfter(pause)) {
                    throw new HostNotReadyException(
                            deadline.missed()
                                    .orElse("after %d tries, %s".formatted(tries, e.getMessage())),
                            e);
                }
                pause = pause.multipliedBy(2);
            }
        }
    }

    private RemoteHost attempt() throws HostNotReadyException, TurnedAwayException {
        SshConnection ssh = SshConnection.open(host, job, bootstrap.command());
        current = ssh;
        if (deadline.isOver()) { // before it could know of this one
            ssh.kill();
        }
        RemoteHost remote = null;
        try {
            Bootstrap.Quarters quarters = bootstrap.run(ssh.input(), ssh.output());
            deadline.enter("starting its agent");
            remote = new RemoteHost(ssh, job, new Copies(job.copies(), quarters.folder()));
            remote.open(job);
            deadline.enter("copying files to it");
            remote.sendCopies();
            deadline.meet();
            return remote;
        } catch (HostNotReadyException e) {
            ssh.kill();
            throw e;
        } catch (IOException e) {
            String known = remote == null ? "" : remote.loss();
            // Asked before the kill, which would cut off what ssh has to say.
            String reason = known.isEmpty() ? ssh.whyNotReady() : known;
            boolean turnedAway = remote == null && ssh.wasTurnedAway();
            ssh.kill();
            if (turnedAway && deadline.missed().isEmpty()) {
                throw new TurnedAwayException(reason, e);
            }
            throw new HostNotReadyException(deadline.missed().orElse(reason), e);
        }
    }

    private void kill() {
        SshConnection ssh = current;
        if (ssh != null) {
            ssh.kill();
        }
    }

    /// A host that may take part yet.
    private static final class TurnedAwayException extends Exception {
        private static final long serialVersionUID = 1;

        TurnedAwayException(String reason, IOException cause) {
            super(reason, cause);
        }
    }
}
