package org.horovod4j.launcher.function;

import org.horovod4j.ConfigurationException;
import org.horovod4j.Hvd;
import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.launcher.function.FunctionResolver.ResolvedFunction;
import org.horovod4j.option.ElasticWorker;
import org.horovod4j.option.Environment;
import org.horovod4j.option.RendezvousSettings;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.util.Map;

/// The program of a rank that runs a function: fetches it, calls it, reports the result. In an elastic
/// job it is the program of a worker, and the function joins the job.
public final class RankMain {
    /// The rank, or the number of the worker.
    private final int number;

    private final boolean isElastic;
    private final FunctionClient client;

    private RankMain(int number, boolean isElastic, FunctionClient client) {
        this.number = number;
        this.isElastic = isElastic;
        this.client = client;
    }

    /// Runs one rank.
    ///
    /// @param arguments the addresses of the [FunctionServer] as text
    public static void main(String[] arguments) {
        // Exits even if the function has left threads running: only its result is needed.
        System.exit(of(System.getenv(), arguments).run());
    }

    private static RankMain of(Map<String, String> variables, String... arguments) {
        WorkerSettings settings = WorkerSettings.from(new Environment(variables));
        if (!(settings.rendezvousSettings() instanceof RendezvousSettings.Server rendezvous)
                || arguments.length != 1) {
            throw new ConfigurationException(
                    "this program is started by Launcher.run, with the variables of a job. Start"
                            + " other programs by horovodrun.");
        }
        ElasticWorker worker = settings.elastic();
        return new RankMain(
                worker == null ? settings.rank() : worker.number(),
                worker != null,
                new FunctionClient(
                        Secret.decode(rendezvous.secret().text())
                                .withProtection(Protection.of(settings.runtime().tls())),
                        FunctionServerAddresses.parse(arguments[0]),
                        settings.heartbeatTimeout(),
                        settings.startTimeout()));
    }

    /// @return the exit code
    private int run() {
        try {
            client.report(new RankOutcomes.Returned(number, work()));
            Hvd.shutdown();
            return 0;
        } catch (Throwable thrown) { // everything is reported to the launching program
            if (!isProcessEnding()) {
                report(thrown);
            }
            return 1;
        }
    }

    /// Whether this process is being ended, by a signal or by `System.exit`. Then the function fails
    /// because the rank has left the job, and the launcher reports how the process ended. A report
    /// from here would be cut off.
    private static boolean isProcessEnding() {
        Thread probe = new Thread(() -> {});
        try {
            Runtime.getRuntime().addShutdownHook(probe);
            boolean _ = Runtime.getRuntime().removeShutdownHook(probe);
            return false;
        } catch (IllegalStateException e) { // hooks cannot be changed any more
            return true;
        }
    }

    private byte[] work() throws Throwable {
        ResolvedFunction resolvedFunction =
                client.fetch().resolve(ClassLoader.getSystemClassLoader());
        if (isElastic) {
            return encode(WorkerResult.of(resolvedFunction.apply(null)));
        }
        Hvd.init();
        return encode(resolvedFunction.apply(Hvd.communicator()));
    }

    private static byte[] encode(@Nullable Object result) {
        try {
            return new ObjectCodec().encode(result);
        } catch (CodecException e) {
            throw new CodecException("the function's result cannot be sent: " + e.getMessage(), e);
        }
    }

    /// Prints what cannot be reported: the launcher shows the last lines of a process.
    private void report(Throwable thrown) {
        try {
            client.report(new RankOutcomes.Threw(number, FunctionFailure.of(thrown)));
        } catch (IOException
                | RuntimeException
                | Error e) { // getMessage() of the cause may throw too
            thrown.addSuppressed(e);
            thrown.printStackTrace();
        }
    }
}
