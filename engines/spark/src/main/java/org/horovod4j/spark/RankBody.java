package org.horovod4j.spark;

import org.horovod4j.Communicator;
import org.horovod4j.RankAction;
import org.horovod4j.RankFunction;
import org.horovod4j.WorkerFunction;
import org.jspecify.annotations.Nullable;

import java.io.Serializable;
import java.util.Iterator;

/// What a rank runs. Spark serializes it.
sealed interface RankBody extends Serializable {
    /// The class that the user wrote, for the description of the job.
    Serializable function();

    /// A function of a rank, which has a communicator from the start.
    sealed interface OfRank extends RankBody {
        @Nullable Object call(Communicator communicator, Iterator<?> rows) throws Exception;
    }

    record Plain(RankFunction<?> function) implements OfRank {
        @Override
        public @Nullable Object call(Communicator communicator, Iterator<?> rows) throws Exception {
            return function.apply(communicator);
        }
    }

    record Action(RankAction function) implements OfRank {
        @Override
        public @Nullable Object call(Communicator communicator, Iterator<?> rows) throws Exception {
            function.run(communicator);
            return null;
        }
    }

    record OfPartition(PartitionFunction<?, ?> function) implements OfRank {
        @Override
        @SuppressWarnings("unchecked") // the rows are of the RDD that the function was given with
        public @Nullable Object call(Communicator communicator, Iterator<?> rows) throws Exception {
            return ((PartitionFunction<Object, ?>) function)
                    .apply(communicator, (Iterator<Object>) rows);
        }
    }

    /// A function of an elastic worker, which joins by `Elastic.run`.
    record OfWorker(WorkerFunction<?> function) implements RankBody {}
}
