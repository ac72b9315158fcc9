package org.horovod4j.tensorflow.training;

import org.horovod4j.Communicator;
import org.horovod4j.HorovodException;
import org.horovod4j.Tensor;
import org.horovod4j.elastic.CommitBuffers;
import org.horovod4j.elastic.State;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.horovod4j.training.TensorBroadcast;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.exceptions.TensorFlowException;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

/// The variables of a session, those of its optimizer included, for elastic training.
///
/// ```java
/// session.initialize();
/// ElasticSampler sampler = new ElasticSampler(images, Sampling.shuffled(42));
/// ObjectState state =
///         new ObjectState()
///                 .with("variables", new TensorFlowState(session))
///                 .with("sampler", sampler)
///                 .with("step", 0);
/// Elastic.run(state, s -> …); // without broadcastGlobalVariables: the state is sent
/// ```
///
/// The ops of [org.horovod4j.tensorflow.HvdOps] and the distributed optimizer use the ranks of each
/// generation without further calls, so the graph and the session stay.
///
/// There are two copies, written in turn: the previous commit stays valid until the next one is
/// complete.
public final class TensorFlowState extends State {
    private static final String ACTION = "send the variables of TensorFlow";
    private static final int MAX_CAUSES = 32;

    private final Session session;
    private final Predicate<String> shared;
    private final VariableValues variables;
    private final CommitBuffers<Map<String, Tensor>> commitBuffers =
            new CommitBuffers<>(() -> "the variables of a session");

    /// @param session whose graph is complete, and whose variables are initialised, on new workers too
    /// @throws IllegalArgumentException when the graph has no variables
    public TensorFlowState(Session session) {
        this(session, _ -> true);
    }

    /// @param shared the names of the variables that are equal on all ranks. The others are committed
    ///     and restored, but not sent: a new worker starts with its own.
    public TensorFlowState(Session session, Predicate<String> shared) {
        this.session = session;
        this.shared = shared;
        this.variables = new VariableValues(session.graph());
    }

    @Override
    protected void save() {
        try (Result now = variables.fetch(session)) {
            Map<String, Tensor> values = variables.view(now);
            Map<String, Tensor> next =
                    commitBuffers.spare().orElseGet(() -> CommitBuffers.copies(values));
            commitBuffers.commit(next, () -> CommitBuffers.copy(values, next));
        }
    }

    @Override
    public void restore() {
        commitBuffers.last().ifPresent(last -> variables.overwrite(session, last));
    }

    @Override
    public void sync(Communicator communicator, int rootRank) {
        Map<String, Tensor> values = VariableValues.copies(session);
        Map<String, Tensor> sent = new LinkedHashMap<>(values);
        sent.keySet().removeIf(name -> !shared.test(name));
        TensorBroadcast.run(communicator, ACTION, sent, rootRank);
        variables.overwrite(session, values);
    }

    /// TensorFlow carries only the message of a lost rank.
    @Override
    protected Optional<HorovodException> findFailure(Throwable exception) {
        return Stream.iterate(exception, Objects::nonNull, Throwable::getCause)
                .limit(MAX_CAUSES)
                .filter(TensorFlowException.class::isInstance)
                .flatMap(each -> HvdTensorFlow.failure((TensorFlowException) each).stream())
                .findFirst();
    }
}
