package org.horovod4j.rendezvous;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.spi.ControlPlane;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Arrays;

/// A rank's description of its own state, for a survey.
final class StateDescription {
    /// Enough for thousands of waiting tensors, and small enough to keep those of many ranks.
    static final int MAX_BYTES = 256 << 10;

    private static final Logger LOGGER = System.getLogger(StateDescription.class.getName());

    private StateDescription() {}

    /// The description of `listener`, truncated to [#MAX_BYTES]. A failure to describe becomes the
    /// description: the state that caused it may be what the survey looks for.
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
