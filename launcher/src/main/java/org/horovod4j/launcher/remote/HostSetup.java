package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.plan.Host;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/// Sets up a host, with retries until the deadline.
///
/// An sshd that receives many logins at once rejects some of them. A retry may succeed.
final class HostSetup {
    /// As in Horovod.
    private static final int MAX_ATTEMPTS = 5;

    /// After the first attempt. Each further pause is twice as long.
    private static final Duration FIRST_RETRY_DELAY = Duration.ofMillis(500);

    private final Host host;
    private final RemoteHostSettings settings;
    private final AgentBootstrap agentBootstrap;
    private final Deadline deadline;
    private volatile @Nullable SshProcess current;

    private HostSetup(Host host, RemoteHostSettings settings, AgentBootstrap agentBootstrap) {
        this.host = host;
        this.settings = settings;
        this.agentBootstrap = agentBootstrap;
        this.deadline = new Deadline(settings.startTimeout(), this::kill);
    }

    /// @param givenUp when complete, the setup is abandoned
    static RemoteHost open(Host host, RemoteHostSettings job, CompletionStage<?> givenUp)
            throws HostNotReadyException {
        HostSetup hostSetup;
        try {
            hostSetup = new HostSetup(host, job, new AgentBootstrap(job));
        } catch (IOException e) {
            throw new HostNotReadyException("the agent's classes cannot be read here: " + e, e);
        }
        var _ = givenUp.thenRun(hostSetup.deadline::cancel);
        return hostSetup.run();
    }

    private RemoteHost run() throws HostNotReadyException {
        Duration pause = FIRST_RETRY_DELAY;
        for (int tries = 1; ; tries++) {
            try {
                return attempt();
            } catch (ConnectionRejectedException e) {
                if (tries == MAX_ATTEMPTS || deadline.awaitOver(pause)) {
                    throw new HostNotReadyException(
                            deadline.missed()
                                    .orElse("after %d tries, %s".formatted(tries, e.getMessage())),
                            e);
                }
                pause = pause.multipliedBy(2);
            }
        }
    }

    private RemoteHost attempt() throws HostNotReadyException, ConnectionRejectedException {
        SshProcess ssh = SshProcess.open(host, settings, agentBootstrap.command());
        current = ssh;
        if (deadline.isOver()) { // the deadline did not know this process
            ssh.kill();
        }
        RemoteHost remote = null;
        try {
            AgentBootstrap.Installation installation =
                    agentBootstrap.run(ssh.input(), ssh.output());
            deadline.setStage("starting its agent");
            remote = new RemoteHost(ssh, settings, installation.folder());
            remote.open();
            deadline.setStage("copying files to it");
            remote.sendCopies();
            deadline.meet();
            return remote;
        } catch (HostNotReadyException e) {
            ssh.kill();
            throw e;
        } catch (IOException e) {
            String known = remote == null ? "" : remote.loss();
            // Read before the kill, which would cut off the messages of ssh.
            String reason = known.isEmpty() ? ssh.whyNotReady() : known;
            boolean rejected = remote == null && ssh.wasRejected();
            ssh.kill();
            if (rejected && deadline.missed().isEmpty()) {
                throw new ConnectionRejectedException(reason, e);
            }
            throw new HostNotReadyException(deadline.missed().orElse(reason), e);
        }
    }

    private void kill() {
        SshProcess ssh = current;
        if (ssh != null) {
            ssh.kill();
        }
    }

    /// The host rejected the connection. A retry may succeed.
    private static final class ConnectionRejectedException extends Exception {
        private static final long serialVersionUID = 1;

        ConnectionRejectedException(String reason, IOException cause) {
            super(reason, cause);
        }
    }
}
