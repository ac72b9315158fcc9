package org.horovod4j.nccl;

import org.horovod4j.Communicator;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.HostExchange;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// What a backend exchanges on the host, by collectives of a real job.
record CommunicatorHost(Communicator communicator) implements HostExchange {
    @Override
    public int rank() {
        return communicator.rank();
    }

    @Override
    public int size() {
        return communicator.size();
    }

    @Override
    public void check() {
        // the launcher ends a job that loses a rank
    }

    @Override
    public void await(DeviceEvent event) {
        while (!event.isComplete()) {
            Thread.onSpinWait();
        }
        event.release();
    }

    @Override
    public void barrier() {
        communicator.barrier();
    }

    @Override
    public List<byte[]> allgather(byte[] mine) {
        int[] sizes = communicator.allgather("sizes", new int[] {mine.length});
        byte[] all = communicator.allgather("bytes", mine);
        List<byte[]> parts = new ArrayList<>();
        int start = 0;
        for (int size : sizes) {
            parts.add(Arrays.copyOfRange(all, start, start + size));
            start += size;
        }
        return parts;
    }
}
