package org.horovod4j.launcher;

import org.horovod4j.launcher.driver.Worker;
import org.horovod4j.launcher.plan.Slot;
import org.horovod4j.option.ElasticOptions;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;

import java.util.LinkedHashMap;
import java.util.Map;

/// What a process needs to know to find the others, as environment variables.
///
/// The environment of a process can be read by its own user alone, unlike its command line.
///
/// @param launcherAddress where the ranks meet
/// @param options what flags set for all processes
record JobVariables(
        JobSettings settings, LauncherAddress launcherAddress, Map<String, String> options) {
    /// Lets Python print each line at once, as Java does, should the program be a script that runs both.
    private static final String UNBUFFERED = "PYTHONUNBUFFERED";

    JobVariables {
        options = Map.copyOf(options);
    }

    /// @param remote whether the slot is on another host
    Map<String, String> of(Slot slot, boolean remote) {
        Map<String, String> variables = common(slot.host(), remote);
        // Else a job that an elastic worker starts would inherit it.
        put(variables, ElasticOptions.ELASTIC, false);
        put(variables, Options.RANK, slot.rank());
        put(variables, Options.SIZE, slot.size());
        put(variables, Options.LOCAL_RANK, slot.localRank());
        put(variables, Options.LOCAL_SIZE, slot.localSize());
        put(variables, Options.CROSS_RANK, slot.crossRank());
        put(variables, Options.CROSS_SIZE, slot.crossSize());
        return variables;
    }

    /// What an elastic worker gets, which has no rank before it asks for one.
    ///
    /// @param deskPort where it asks, at the address where the ranks meet
    /// @param remote whether it runs on another host
    Map<String, String> of(Worker worker, int deskPort, boolean remote) {
        Map<String, String> variables = common(worker.host(), remote);
        put(variables, ElasticOptions.ELASTIC, true);
        put(variables, ElasticOptions.WORKER, worker.number());
        put(variables, ElasticOptions.PORT, deskPort);
        return variables;
    }

    private Map<String, String> common(String host, boolean remote) {
        Map<String, String> variables = new LinkedHashMap<>(options);
        put(variables, Options.HOSTNAME, host);
        put(
                variables,
                Options.RENDEZVOUS_ADDR,
                remote ? launcherAddress.forHost(host) : launcherAddress.local());
        put(variables, Options.RENDEZVOUS_PORT, launcherAddress.port());
        put(variables, Options.RENDEZVOUS_SERVER, RendezvousHost.LAUNCHER);
        put(variables, Options.SECRET_KEY, settings.secret().encode());
        put(variables, Options.JOB_ID, settings.id());
        variables.put(UNBUFFERED, "1");
        return variables;
    }

    private static <T extends Comparable<T>> void put(
            Map<String, String> variables, Option<T> option, T value) {
        variables.put(option.variable(), option.format(value));
    }
}
