package org.horovod4j.security;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.stream.Collectors;

/// None of the addresses led to the wanted peer. The message has one line for each address.
public final class UnreachableException extends IOException {
    private static final long serialVersionUID = 1L;

    private final transient List<Attempt> attempts;

    UnreachableException(List<Attempt> attempts) {
        super(
                attempts.isEmpty()
                        ? "  (no address is known)"
                        : attempts.stream()
                                .map(Attempt::describe)
                                .collect(Collectors.joining("\n")));
        this.attempts = attempts;
        attempts.forEach(attempt -> addSuppressed(attempt.failure()));
    }

    /// The attempts, in the order they were started.
    public List<Attempt> attempts() {
        return attempts;
    }

    /// One address and why it failed.
    public record Attempt(InetSocketAddress address, IOException failure) {
        private String describe() {
            return "  " + address + ": " + failure.getMessage();
        }
    }
}
