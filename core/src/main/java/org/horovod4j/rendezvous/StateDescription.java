package org.horovod4j.rendezvous;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.spi.ControlPlane;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Arrays;

/// What a rank says of its state when it is asked.
final class StateDescription {
    /// Enough for thousands of waiting tensors, and little enough that those of many ranks can be
    /// kept.
    static final int MAX_BYTES = 256 << 10;

    private static final Logger LOGGER = System.getLogger(StateDescription.class.getName());

    private StateDescription() {}

    /// What `listener` says, cut to size. That it fails to is an answer too: the state that it
    /// could not describe is perhaps what the survey is after.
    static byte[] of(ControlPlane.Listener listener) {
        byte[] text;
        try {
            text = listener.describe();
        } catch (RuntimeException e) {
            LOGGER.log(Level.WARNING, "This rank could not describe its state", e);
            text = ("could not describe its state: " + e).getBytes(UTF_8);
        }
        return text.length <= MAX_BYTES ? text : Arrays.copyOf(text, MAX_BYTES);
    }
}
