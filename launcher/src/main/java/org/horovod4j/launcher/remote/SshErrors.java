package org.horovod4j.launcher.remote;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.horovod4j.text.MessageText;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Explains to the user what ssh writes to standard error.
///
/// Its exit code is always 255, so its messages must be parsed.
final class SshErrors {
    private static final int MAX_LINES = 50;

    private static final Pattern CHANGED_KEY =
            Pattern.compile("REMOTE HOST IDENTIFICATION HAS CHANGED");
    private static final Pattern UNKNOWN_KEY = Pattern.compile("Host key verification failed");
    private static final Pattern UNKNOWN_NAME = Pattern.compile("Could not resolve hostname");
    private static final Pattern REFUSED = Pattern.compile("Connection refused");
    private static final Pattern NO_ANSWER =
            Pattern.compile("[Tt]imed out|No route to host|unreachable|Connection reset|closed by");
    private static final Pattern REJECTED =
            Pattern.compile(
                    "kex_exchange_identification|ssh_exchange_identification|banner exchange"
                            + "|Connection (reset|closed) by");
    private static final Pattern NO_IDENTITY =
            Pattern.compile(
                    "Identity file (.*) not accessible|Load key \"(.*)\": (?!.*ssh-agent).*");
    private static final Pattern DENIED =
            Pattern.compile("Permission denied \\(.*\\)|Too many authentication failures");

    private static final Pattern PORT = Pattern.compile("connect to host .* port (\\d+):");

    private final Deque<String> lines = new ArrayDeque<>();

    synchronized void add(String line) {
        if (line.isBlank()) {
            return;
        }
        if (lines.size() == MAX_LINES) {
            lines.removeFirst();
        }
        lines.addLast(line.strip());
    }

    /// The last line, or an empty text.
    synchronized String lastLine() {
        return lines.isEmpty() ? "" : lines.getLast();
    }

    /// Whether a host answered and then closed the connection before authentication, as a busy one
    /// does.
    synchronized boolean isRejection() {
        String all = String.join("\n", lines);
        return REJECTED.matcher(all).find() && !DENIED.matcher(all).find();
    }

    /// Why a host cannot be used, and what to do about it.
    ///
    /// @param ending how ssh ended
    synchronized String explain(Host host, String ending) {
        String all = String.join("\n", lines);
        if (CHANGED_KEY.matcher(all).find()) {
            return """
                   its host key is not the one that ssh knows. If the host was reinstalled, run \
                   ssh-keygen -R '%s', then %s once by hand; if not, another machine may be \
                   impersonating it."""
                    .formatted(keyName(host), manualCommand(host));
        }
        if (UNKNOWN_KEY.matcher(all).find()) {
            return """
                   ssh does not know its host key. Run %s once by hand and accept it, or set \
                   StrictHostKeyChecking to accept-new in ~/.ssh/config."""
                    .formatted(manualCommand(host));
        }
        if (UNKNOWN_NAME.matcher(all).find()) {
            return """
                   its name cannot be resolved. Check the spelling, or enter it in DNS or \
                   /etc/hosts.""";
        }
        if (REFUSED.matcher(all).find()) {
            return "it refuses connections to port %s. Start sshd there, or give its port with -p."
                    .formatted(port(all, host));
        }
        Matcher denied = DENIED.matcher(all);
        if (denied.find()) {
            return """
                   it refuses the login: %s%s Put your public key into ~/.ssh/authorized_keys \
                   there; %s must work without a password."""
                    .formatted(
                            MessageText.sentence(denied.group()),
                            identity(all),
                            manualCommand(host));
        }
        if (NO_ANSWER.matcher(all).find()) {
            return "no connection to its port %s: %s Check its address, the network and firewalls."
                    .formatted(port(all, host), MessageText.sentence(lastLine()));
        }
        String words = lines.isEmpty() ? " without a message" : ": " + lastLine();
        return "ssh ended (%s)%s Make %s work first."
                .formatted(ending, MessageText.sentence(words), manualCommand(host));
    }

    private static String identity(String all) {
        Matcher missing = NO_IDENTITY.matcher(all);
        return missing.find() ? " The key could not be read (%s).".formatted(missing.group()) : "";
    }

    /// The command with which a user can test the login.
    private static String manualCommand(Host host) {
        Login login = host.login();
        return "'ssh%s%s %s%s true'"
                .formatted(
                        login.port() == null ? "" : " -p " + login.port(),
                        login.identityFile() == null ? "" : " -i " + login.identityFile(),
                        login.user() == null ? "" : login.user() + "@",
                        host.name());
    }

    private static String keyName(Host host) {
        Integer port = host.login().port();
        return port == null ? host.name() : "[%s]:%d".formatted(host.name(), port);
    }

    /// The port in the message of ssh, whose configuration may set another one than the launcher.
    private static String port(String all, Host host) {
        Matcher said = PORT.matcher(all);
        Integer port = host.login().port();
        return said.find() ? said.group(1) : port == null ? "22" : port.toString();
    }
}
