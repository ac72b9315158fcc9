package org.horovod4j.tensorflow.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.MismatchException;
import org.horovod4j.tensorflow.Adam;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.tensorflow.Graph;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.framework.optimizers.GradientDescent;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/// States of ranks that are threads of this JVM.
class TensorFlowStateTest {
    private static LinearModel adamModel(float start) {
        return new LinearModel(start, graph -> new Adam(graph, 0.1f));
    }

    private static Map<String, String> contents(VariableValues variables, Session session) {
        Map<String, String> contents = new LinkedHashMap<>();
        try (Result now = variables.fetch(session)) {
            variables
                    .view(now)
                    .forEach(
                            (name, tensor) ->
                                    contents.put(name, Arrays.toString(tensor.toFloatArray())));
        }
        return contents;
    }

    private static void train(LinearModel model, Session session, int steps) {
        for (int i = 0; i < steps; i++) {
            model.run(session, model.trainOp, i, 0);
        }
    }

    @Test
    void restoreReturnsToTheLastCommit() {
        try (LinearModel model = adamModel(1);
                Session session = new Session(model.graph)) {
            VariableValues variables = new VariableValues(model.graph);
            session.initialize();
            TensorFlowState state = new TensorFlowState(session);
            Map<String, String> committed = Map.of();
            for (int i = 0; i < 3; i++) { // the copies take turns
                train(model, session, 2);
                state.commit();
                committed = contents(variables, session);
            }
            train(model, session, 2);
            assertThat(contents(variables, session))
                    .containsOnlyKeys(committed.keySet())
                    .isNotEqualTo(committed);
            state.restore();
            assertThat(contents(variables, session)).isEqualTo(committed);
            train(model, session, 1);
            state.restore(); // the commit is still there
            assertThat(contents(variables, session)).isEqualTo(committed);
        }
    }

    @Test
    void newWorkerGetsTheVariablesOfTheRoot() {
        World.run(
                3,
                comm -> {
                    try (LinearModel model = adamModel(comm.rank());
                            Session session = new Session(model.graph)) {
                        VariableValues variables = new VariableValues(model.graph);
                        session.initialize();
                        TensorFlowState state =
                                new TensorFlowState(session, name -> !name.equals("beta1_power"));
                        train(model, session, 1 + comm.rank());
                        Map<String, String> own = contents(variables, session);
                        Map<String, String> expected =
                                new LinkedHashMap<>(comm.broadcastObject("of rank 1", own, 1));
                        expected.put("beta1_power", own.get("beta1_power")); // local
                        state.sync(comm, 1);
                        assertThat(contents(variables, session)).isEqualTo(expected);
                    }
                });
    }

    @Test
    void otherVariablesAreRejectedOnAllRanks() {
        World.run(
                2,
                comm -> {
                    try (LinearModel model =
                                    new LinearModel(
                                            1,
                                            graph ->
                                                    comm.rank() == 0
                                                            ? new Adam(graph, 0.1f)
                                                            : new GradientDescent(graph, 0.1f));
                            Session session = new Session(model.graph)) {
                        session.initialize();
                        TensorFlowState state = new TensorFlowState(session);
                        assertThatThrownBy(() -> state.sync(comm, 0))
                                .isInstanceOf(MismatchException.class)
                                .hasMessageContaining("lacks 'beta1_power'");
                    }
                });
    }

    @Test
    void graphWithoutVariablesIsRejected() {
        try (Graph graph = new Graph();
                Session session = new Session(graph)) {
            assertThatThrownBy(() -> new TensorFlowState(session))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("the graph has no variables");
        }
    }
}
