package org.horovod4j.spark;

import org.horovod4j.codec.CodecException;
import org.horovod4j.codec.ObjectCodec;
import org.horovod4j.connection.Connection;
import org.horovod4j.frame.MalformedMessageException;
import org.horovod4j.launcher.function.FunctionFailure;

import java.util.Map;

/// What a Spark task and the driver's [TaskServer] send each other.
sealed interface TaskMessage {
    sealed interface FromTask extends TaskMessage {}

    sealed interface FromDriver extends TaskMessage {}

    /// The first message of a task.
    ///
    /// @param index among the tasks of the job
    /// @param executor the name that Spark gave the JVM of the task
    /// @param host the name of its host, as Spark knows it
    /// @param machine the same for all tasks of one machine
    record Hello(int index, String executor, String host, String machine, long pid)
            implements FromTask {}

    /// A line that the function printed.
    record Printed(boolean isError, String line) implements FromTask {}

    /// The function returned. Spark carries the result.
    record Returned() implements FromTask {}

    /// The function threw, or its process ended.
    record Threw(FunctionFailure failure) implements FromTask {}

    /// The task is to run the function.
    ///
    /// @param worker the rank, or the number of an elastic worker
    /// @param isAlone whether it is the only rank in its executor
    /// @param settings of the rank, with the secret of the job
    record Start(int worker, boolean isAlone, Map<String, String> settings) implements FromDriver {
        public Start {
            settings = Map.copyOf(settings);
        }

        /// Without the secret.
        @Override
        public String toString() {
            return "Start[" + worker + "]";
        }
    }

    /// The driver has printed lines of the task, which may send as many more.
    record LinesPrinted(int count) implements FromDriver {}

    /// The task is to end.
    ///
    /// @param reason empty when its work is done
    record Stop(String reason) implements FromDriver {}

    /// Encodes messages without Java serialisation.
    final class Codec implements Connection.MessageCodec<TaskMessage> {
        /// An exception with many causes and frames is the largest message.
        static final int MAX_BYTES = 64 << 20;

        private final ObjectCodec codec = new ObjectCodec(TaskMessage.class.getClassLoader());

        @Override
        public byte[] encode(TaskMessage message) {
            return codec.encode(message);
        }

        @Override
        public TaskMessage decode(byte[] bytes) throws MalformedMessageException {
            try {
                if (codec.decode(bytes) instanceof TaskMessage message) {
                    return message;
                }
                throw new MalformedMessageException("an object that is not a message");
            } catch (CodecException e) {
                throw new MalformedMessageException(String.valueOf(e.getMessage()));
            }
        }
    }
}
